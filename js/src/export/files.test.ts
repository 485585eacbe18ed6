import { describe, expect, test } from "vitest";
import { withDefaults } from "../data/options.ts";
import { evaluate } from "../engine/evaluate.ts";
import { profileOf } from "../engine/testing.ts";
import { csvParts, fileName, textCell } from "./files.ts";

describe("textCell", () => {
  test.each([
    ["conv1/MatMul", "conv1/MatMul"],
    ["", ""],
    ["a,b", '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ["two\nlines", '"two\nlines"'],
    // What a spreadsheet would compute.
    ["=1+1", '"\'=1+1"'],
    ['=HYPERLINK("x")', '"\'=HYPERLINK(""x"")"'],
    ["+1", '"\'+1"'],
    ["-1", '"\'-1"'],
    ["@SUM(A1)", '"\'@SUM(A1)"'],
    ["\t=1", '"\'\t=1"'],
    ["\r=1", '"\'\r=1"'],
    ["\n=1", '"\'\n=1"'],
    ["＝1+1", '"\'＝1+1"'],
    ["a=1", "a=1"],
  ])("of %j", (text, cell) => {
    expect(textCell(text)).toBe(cell);
  });
});

describe("csvParts", () => {
  const profile = profileOf(`
    s/a  = Add(s/b) 5us;7us 4flops
    s/b  = Const() 1500ns 6params @gpu
    =1+1 = Const()
  `);

  test("has the rows of the view in order, every value in full", () => {
    const view = evaluate(profile, "scope", withDefaults({ orderBy: "micros" }));
    const [head = "", ...rows] = [...csvParts(view)].join("").split("\r\n");
    const names = head.split(",");
    const column = (name: string) => rows.slice(0, -1).map((row) => row.split(",")[names.indexOf(name)]);
    expect(rows.at(-1)).toBe("");
    expect(column("name")).toEqual(["_TFProfRoot", "s", "s/a", "s/b", '"\'=1+1"']);
    expect(column("depth")).toEqual(["0", "1", "2", "2", "1"]);
    expect(column("parent")).toEqual(["-1", "0", "1", "1", "0"]);
    expect(column("op")).toEqual(["", "", "Add", "Const", "Const"]);
    expect(column("device")).toEqual(["", "", "", "gpu", ""]);
    // a: the mean of 5 and 7; b runs in even steps only, in 1.5.
    expect(column("micros")).toEqual(["0", "0", "6", "1.5", "0"]);
    expect(column("total_micros")).toEqual(["7.5", "7.5", "6", "1.5", "0"]);
    expect(column("total_params")).toEqual(["6", "6", "0", "6", "0"]);
  });

  test("comes in parts that together are the whole", () => {
    const many = Array.from({ length: 4500 }, (_, index) => `n${index} = Op()`).join("\n");
    const parts = [...csvParts(evaluate(profileOf(many), "graph", withDefaults()))];
    expect(parts.length).toBe(4);
    expect(parts.join("").match(/\r\n/g)).toHaveLength(1 + 1 + 4500);
  });

  test("names the op types of the op view", () => {
    const [, ...rows] = [...csvParts(evaluate(profile, "op", withDefaults()))].join("").split("\r\n");
    expect(rows.map((row) => row.split(",")).map(([name, , , op]) => [name, op])).toEqual([
      ["Add", "Add"],
      ["Const", "Const"],
      ["", undefined],
    ]);
  });
});

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
