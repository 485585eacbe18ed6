import { describe, expect, test } from "vitest";
import { fileName } from "./file_name.ts";

describe("fileName", () => {
  test.each([
    ["resnet train_step", "resnet train_step-scope.csv"],
    ["cell [7] · résumé", "cell [7] · résumé-scope.csv"],
    ["", "tfprof-scope.csv"],
    ["../../etc/passwd", "etc passwd-scope.csv"],
    ["/root/.ssh/id", "root .ssh id-scope.csv"],
    ["C:\\Windows\\x", "C Windows x-scope.csv"],
    ['a<b>c:d"e|f?g*h', "a b c d e f g h-scope.csv"],
    ["line\nbreak\u0000end\u007f", "line break end-scope.csv"],
    ["gpj.\u202efdp", "gpj. fdp-scope.csv"],
    ["...", "tfprof-scope.csv"],
    ["-rf", "rf-scope.csv"],
    ["nul", "_nul-scope.csv"],
    ["con.txt", "_con.txt-scope.csv"],
    ["console", "console-scope.csv"],
    ["ends. ", "ends-scope.csv"],
    ["half \ud83d", "half-scope.csv"],
  ])("of %j", (title, name) => {
    expect(fileName(title, "scope", "csv")).toBe(name);
  });

  test("has at most 80 characters, none of them in half", () => {
    expect(fileName("a".repeat(200), "scope", "csv")).toBe(`${"a".repeat(70)}-scope.csv`);
    expect(fileName(`${"a".repeat(69)}😀`, "scope", "csv")).toBe(`${"a".repeat(69)}-scope.csv`);
  });

  test("can do without what is shown", () => {
    expect(fileName("train", "", "html")).toBe("train.html");
  });
});
