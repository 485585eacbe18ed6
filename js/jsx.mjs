// What JSX is compiled to: shorter in a bundle than the calls of preact/jsx-runtime.

export { Fragment, h } from "preact";
