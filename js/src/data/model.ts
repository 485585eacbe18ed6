// The widget's other end: the traits of its model, and the code that comes after the first paint.

/** The model of the widget: its traits, by the names that Python gives them. */
export interface Model {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  /** Say something to Python; a saved result has nobody to say it to. */
  send?(message: unknown): void;
  on(event: string, listener: Listener): void;
  off(event: string, listener: Listener): void;
}

/** Hears of a change of a trait, or, on "msg:custom", what Python says and the bytes that come with it. */
export type Listener = (message?: unknown, buffers?: readonly DataView[]) => void;

/** What is shipped once for all widgets of a notebook. */
export interface Assets {
  /** The bundle of js/src/panels.ts, gzipped. */
  readonly panels: Uint8Array | DataView;
  /** That of js/src/carried.ts; null in a saved result where the one that carries it is not on the page. */
  readonly carried: Uint8Array | DataView | null;
  /** That of js/src/charts.ts, likewise. */
  readonly charts: Uint8Array | DataView | null;
  /** The page of a report, with places for its parts; see tfprof_widget/widget/report.py. */
  readonly page: string;
}

// A kernel answers when the cell that it runs is done; the wait begins anew with each time that somebody looks.
const PATIENCE_MILLISECONDS = 10_000;

/** What anywidget 0.11 and later give a view to find other models with. */
export interface ModelSource {
  getModel(reference: string): Promise<Model>;
}

/** What Python answers who asks for the assets; the bundles are the bytes beside it. */
interface CodeAnswer extends Pick<Assets, "page"> {
  readonly answer: "code";
}

/** The assets out of the shared widget; the kernel is asked where that cannot be reached. */
export async function sharedAssets(model: Model, source: ModelSource | undefined): Promise<Assets> {
  const shared = await source?.getModel(String(model.get("_assets"))).catch(() => undefined);
  if (!shared) return askedAssets(model);
  return {
    panels: shared.get("panels") as Uint8Array,
    carried: shared.get("carried") as Uint8Array,
    charts: shared.get("charts") as Uint8Array,
    page: shared.get("page") as string,
  };
}

function askedAssets(model: Model): Promise<Assets> {
  return new Promise((resolve, reject) => {
    const hear: Listener = (message, buffers) => {
      const { answer, page } = message as CodeAnswer;
      const [panels, carried, charts] = buffers ?? [];
      if (answer !== "code" || !panels || !carried || !charts) return;
      leave();
      resolve({ panels, carried, charts, page });
    };
    const giveUp = (): void => {
      leave();
      reject(
        new Error("the kernel does not answer; when it is idle, choose another tab, or run the cell again"),
      );
    };
    const patience = setTimeout(giveUp, PATIENCE_MILLISECONDS);
    const leave = (): void => {
      clearTimeout(patience);
      model.off("msg:custom", hear);
    };
    model.on("msg:custom", hear);
    model.send?.({ request: "code" });
  });
}

/** What anywidget gives a view; `assets` is the opener's own way to hand them over, for there is no kernel. */
export interface Rendering {
  readonly model: Model;
  readonly el: HTMLElement;
  readonly host?: ModelSource;
  readonly assets?: () => Promise<Assets>;
}

/** The model as a view sees it that is only told: the options of a result, which it lacks, are not set in Python. */
export function listeningTo(model: Model): Model {
  return {
    get: (name) => model.get(name),
    set: () => {},
    save_changes: () => {},
    send: (message) => model.send?.(message),
    on: (event, listener) => model.on(event, listener),
    off: (event, listener) => model.off(event, listener),
  };
}
