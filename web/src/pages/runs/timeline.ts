/** The position of a step, as its dotted path. */
export type Path = string;

/** An event of a run's stream, as far as the timeline needs it. */
export interface RunEvent {
  type: string;
  at: string;
  stepId?: string;
  path?: readonly (string | number)[];
}

/** A stretch of time in which a step executed, or waited. Milliseconds since the epoch; `end` is null while it lasts. */
export interface Stretch {
  /** Its place among the stretches of its step: two can begin in the same millisecond. */
  position: number;
  start: number;
  end: number | null;
  isWaiting: boolean;
}

const pathOf = ({ path, stepId }: RunEvent): Path => (path ?? [stepId ?? '']).join('.');

/** @returns the stretches of each step, by its path, from the events of a run in their order */
export function stretchesOf(events: readonly RunEvent[]): Map<Path, Stretch[]> {
  const found = new Map<Path, Stretch[]>();
  const close = (path: Path, at: number) => {
    const last = found.get(path)?.at(-1);
    if (last && last.end === null) last.end = at;
  };
  const open = (path: Path, at: number, isWaiting: boolean) => {
    close(path, at);
    const earlier = found.get(path) ?? [];
    found.set(path, [...earlier, { position: earlier.length, start: at, end: null, isWaiting }]);
  };
  for (const event of events) {
    const at = Date.parse(event.at);
    const path = pathOf(event);
    if (event.type === 'step.started' || event.type === 'step.resumed') open(path, at, false);
    else if (event.type === 'step.waiting') open(path, at, true);
    else if (event.type === 'step.completed' || event.type === 'step.failed') close(path, at);
    else if (/^run\.(completed|failed|cancelled)$/.test(event.type)) for (const open of found.keys()) close(open, at);
  }
  return found;
}

export interface Step {
  stepId: string;
  path?: readonly (string | number)[] | undefined;
}

/** @returns steps in the order of their paths, each below the container that it stands in, with its depth */
export function nest<One extends Step>(steps: readonly One[]): { step: One; path: Path; depth: number }[] {
  const rows = steps.map((step) => ({ step, parts: step.path ?? [step.stepId] }));
  const order = new Map(rows.map(({ parts }, index) => [parts.join('.'), index]));
  const rank = (parts: readonly (string | number)[]) =>
    parts.map((part, index) =>
      typeof part === 'number' ? part : (order.get(parts.slice(0, index + 1).join('.')) ?? Number.MAX_SAFE_INTEGER),
    );
  return rows
    .toSorted((one, other) => {
      const [a, b] = [rank(one.parts), rank(other.parts)];
      for (let index = 0; index < Math.min(a.length, b.length); index++) {
        const difference = a[index]! - b[index]!;
        if (difference !== 0) return difference;
      }
      return a.length - b.length;
    })
    .map(({ step, parts }) => ({ step, path: parts.join('.'), depth: parts.length - 1 }));
}
