// Devices by the short names that people say: CPU:0, GPU:0 · stream all.

const UPPER = /^(cpu|gpu|tpu|xla_cpu|xla_gpu)$/i;

/** What is left of a device's name once job, replica and task 0 are taken as read. */
export function deviceLabel(name: string): string {
  const parts = name
    .split("/")
    .filter((part) => part && !/^(job:(localhost|worker)|(replica|task):0)$/.test(part))
    .map((part) => part.replace(/^device:/, ""));
  const label = parts.map(partLabel).join(" · ");
  return label || name || "no device";
}

function partLabel(part: string): string {
  const [kind = "", ...rest] = part.split(":");
  return UPPER.test(kind) ? [kind.toUpperCase(), ...rest].join(":") : [kind, ...rest].join(" ");
}
