// Holds the order of the rooms in js/src: imports go one way, without cycles, and a name stands for one thing.

import { expect, test } from "vitest";

// A room imports those after it, never those before it.
const ROOMS = ["", "export", "views", "ui", "state", "analysis", "engine", "data", "lib"];
// Parts of a screen that panels put beside their own.
const SHARED_VIEWS = ["views", "views/charts", "views/table"];
const MOST_LINES = 400;

const found = import.meta.glob<string>("./src/**/*.{ts,tsx}", {
  query: "?raw",
  import: "default",
  eager: true,
});
const texts = new Map(
  Object.entries(found)
    .map(([path, text]) => [path.replace("./src/", ""), text] as const)
    .filter(([file]) => !/(\.test|(^|\/)testing)\.tsx?$/.test(file)),
);
const files = [...texts.keys()].sort();
const imports = new Map(files.map((file) => [file, importsOf(file)]));

function importsOf(file: string): readonly string[] {
  const found = (texts.get(file) as string).matchAll(/(?:^|\n)(?:import|export)\b[^;]*?\bfrom "(\.[^"]+)";/g);
  return Array.from(found, ([, path]) => new URL(path as string, `file:///${file}`).pathname.slice(1));
}

function folderOf(file: string): string {
  return file.split("/").slice(0, -1).join("/");
}

function roomOf(file: string): string {
  return file.includes("/") ? (file.split("/")[0] as string) : "";
}

/** The exports of a module, types included. */
function exportsOf(file: string): readonly string[] {
  const found = (texts.get(file) as string).matchAll(
    /^export (?:async )?(?:function\*?|const|class|abstract class|interface|type) (\w+)/gm,
  );
  return Array.from(found, ([, name]) => name as string);
}

test("every module is in a room", () => {
  expect(files.length).toBeGreaterThan(50);
  expect(files.filter((file) => !ROOMS.includes(roomOf(file)))).toEqual([]);
});

test.each(files)("%s imports only its own room and those below, never an entry", (file) => {
  const place = ROOMS.indexOf(roomOf(file));
  const wrong = (imports.get(file) as readonly string[]).filter((target) => {
    if (target.endsWith(".css")) return place !== 0;
    if (place === 0) return false;
    return roomOf(target) === "" || ROOMS.indexOf(roomOf(target)) < place;
  });
  expect(wrong).toEqual([]);
});

test("panels do not import each other: only the frame puts them together, and tables and charts serve all", () => {
  const wrong = files.flatMap((file) =>
    (imports.get(file) as readonly string[])
      .filter((target) => roomOf(file) === "views" && roomOf(target) === "views")
      .filter((target) => folderOf(target) !== folderOf(file) && !SHARED_VIEWS.includes(folderOf(target)))
      .map((target) => `${file} → ${target}`),
  );
  expect(wrong).toEqual([]);
});

test("what leaves the widget as a file knows no view and no control", () => {
  const wrong = files.filter(
    (file) =>
      roomOf(file) === "export" &&
      (imports.get(file) as readonly string[]).some((target) => ["views", "ui"].includes(roomOf(target))),
  );
  expect(wrong).toEqual([]);
});

test("no imports go in a circle, those of types included", () => {
  const done = new Set<string>();
  const visit = (file: string, above: readonly string[]): void => {
    const at = above.indexOf(file);
    if (at >= 0) throw new Error([...above.slice(at), file].join(" → "));
    if (done.has(file)) return;
    for (const target of imports.get(file) ?? []) visit(target, [...above, file]);
    done.add(file);
  };
  for (const file of files) expect(() => visit(file, [])).not.toThrow();
});

test.each(files)("%s opens with a sentence and has at most 400 lines", (file) => {
  const lines = (texts.get(file) as string).split("\n");
  expect(lines[0]).toMatch(/^\/\/ .*[.:`]/);
  expect(lines.length).toBeLessThanOrEqual(MOST_LINES);
});

test("an exported name stands for one thing", () => {
  const places = new Map<string, string[]>();
  for (const file of files) {
    for (const name of exportsOf(file)) places.set(name, [...(places.get(name) ?? []), file]);
  }
  expect([...places].filter(([, found]) => found.length > 1)).toEqual([]);
});

test("what is exported is imported somewhere", () => {
  const all = Object.entries(
    import.meta.glob<string>(["./**/*.{ts,tsx,mjs}", "../tests/{charts,properties}/*.mjs"], {
      query: "?raw",
      import: "default",
      eager: true,
    }),
  ).map(([path, text]) => [path.replace("./src/", ""), text] as const);
  const unused = files
    .filter((file) => roomOf(file) !== "" && file !== "data/protocol.ts") // which is generated
    .flatMap((file) =>
      exportsOf(file)
        .filter(
          (name) => !all.some(([other, text]) => other !== file && new RegExp(`\\b${name}\\b`).test(text)),
        )
        .map((name) => `${file} ${name}`),
    );
  expect(unused).toEqual([]);
});
