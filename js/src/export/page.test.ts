import { describe, expect, test } from "vitest";
import { withDefaults } from "../data/options.ts";
import { evaluate } from "../engine/evaluate.ts";
import { profileOf } from "../engine/testing.ts";
import { escaped, page, staticTable } from "./page.ts";

describe("page", () => {
  test("fills each place of the template once", () => {
    const template = "<title><!--title--></title><div><!--static--></div><!--parts--><!--other-->";
    const places = { title: "a $& b", static: "<p><!--parts--></p>", parts: "P" };
    expect(page(template, places)).toBe("<title>a $& b</title><div><p><!--parts--></p></div>P<!--other-->");
  });
});

test("escaped spells out what is not seen", () => {
  expect(escaped("two\nlines\x1b\u202e<")).toBe("two\nlines\\x1b\\u202e&lt;");
});

test("escaped leaves no markup", () => {
  expect(escaped(`</script><img src="x" onerror='y'>&`)).toBe(
    "&lt;/script&gt;&lt;img src=&quot;x&quot; onerror=&#39;y&#39;&gt;&amp;",
  );
});

describe("staticTable", () => {
  test("shows the costliest rows, indented, names as text, and no measure without values", () => {
    const profile = profileOf("<b>x</b> = Add() 5us\ny = Mul() 7us\nz = Const()");
    const options = withDefaults({ select: ["bytes", "micros", "device"], orderBy: "micros" });
    const cells = (name: string, own: string, total: string) =>
      `<tr><td>${name}</td><td align="right">${own}</td><td align="right">${total}</td></tr>`;
    expect(staticTable(evaluate(profile, "graph", options))).toBe(
      `<table><tr><th>name</th><th>micros</th><th>total micros</th></tr>${cells("all", "–", "12 µs")}` +
        `${cells("&emsp;y", "7 µs", "7 µs")}${cells("&emsp;&lt;b&gt;x&lt;/b&gt;", "5 µs", "5 µs")}</table>`,
    );
  });

  test("has twenty rows at most", () => {
    const many = Array.from({ length: 250 }, (_, index) => `n${index} = Op()`).join("\n");
    const found = staticTable(evaluate(profileOf(many), "graph", withDefaults()));
    expect(found.match(/<tr><td>/g)).toHaveLength(20);
  });
});
