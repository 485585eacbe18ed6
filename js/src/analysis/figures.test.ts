import { expect, test } from "vitest";
import { byteRate, offset, percent, placed, times } from "./figures.ts";

test.each([
  ["/job:ps/replica:0/task:0", "ps 0"],
  ["/job:worker/replica:0/task:0", "worker 0"],
  ["/job:worker/replica:0/task:1/device:CPU:0", "worker 1 · CPU:0"],
  ["/job:localhost/replica:0/task:0", "localhost 0"],
  ["trainer\u202e", "trainer\\u202e"],
])("%s is called %s", (name, label) => {
  expect(placed(name)).toBe(label);
});

test("a megabyte in two milliseconds is half a gigabyte a second", () => {
  expect(byteRate(1_000_000, 2_000_000)).toBe("500 MB/s");
  expect(byteRate(1_000_000, 0)).toBe("–");
  expect(byteRate(0, 10)).toBe("–");
});

test.each<[number, number | null, string]>([
  [0, 0, "reference"],
  [1_500_000, 20_000, "+1.50 ms ± 20 µs"],
  [-2_000, 500, "−2 µs ± 500 ns"],
  [7, null, "not known"],
])("a clock %d ns ahead, give or take %d ns, is %s", (nanos, error, text) => {
  expect(offset(nanos, error)).toBe(text);
});

test("parts and multiples", () => {
  expect(percent(0.385)).toBe("39 %");
  expect(percent(null)).toBe("–");
  // 58.84m of the two servers' 25.81m and 58.84m.
  expect(times(58.84, 42.325)).toBe("1.39 ×");
  expect(times(1, 0)).toBe("–");
});
