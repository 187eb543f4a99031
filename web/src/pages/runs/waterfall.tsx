import { formatDuration } from '../../components/duration.ts';
import { Status } from '../../components/status.tsx';
import { nest, type Step, type Stretch } from './timeline.ts';

interface ShownStep extends Step {
  name: string;
  status: string;
  durationMs: number | null;
}

interface WaterfallProps<One extends ShownStep> {
  steps: readonly One[];
  stretches: ReadonlyMap<string, readonly Stretch[]>;
  /** Path of the step whose details are shown. */
  selected: string | undefined;
  onSelect(path: string): void;
}

/** The steps of a run below each other, each with the times at which it executed and waited. */
export function Waterfall<One extends ShownStep>({ steps, stretches, selected, onSelect }: WaterfallProps<One>) {
  const now = Date.now();
  const all = [...stretches.values()].flat();
  const start = Math.min(...all.map((one) => one.start), now);
  const end = Math.max(...all.map((one) => one.end ?? now), start + 1);
  const share = (ms: number) => `${(100 * ms) / (end - start)}%`;
  return (
    <ol aria-label="Steps" className="m-0 list-none p-0">
      {nest(steps).map(({ step, path, depth }) => (
        <li key={path}>
          <button
            type="button"
            aria-expanded={path === selected}
            onClick={() => onSelect(path)}
            className={`grid w-full grid-cols-[minmax(0,14rem)_6rem_1fr_5rem] items-center gap-2 rounded px-2 py-1.5 text-left hover:bg-raised max-md:grid-cols-[1fr_6rem] ${path === selected ? 'bg-raised' : ''}`}
          >
            <span className="truncate" style={{ paddingLeft: `${depth * 0.9}rem` }} title={path}>
              {step.name}
            </span>
            <Status value={step.status} />
            <span aria-hidden="true" className="relative block h-3 rounded bg-raised max-md:hidden">
              {(stretches.get(path) ?? []).map((stretch) => (
                <span
                  key={stretch.position}
                  title={`${stretch.isWaiting ? 'Waited' : 'Executed'} ${formatDuration((stretch.end ?? now) - stretch.start)}`}
                  className={`absolute h-3 min-w-0.5 rounded ${stretch.isWaiting ? 'border border-warn bg-transparent' : step.status === 'failed' ? 'bg-bad' : 'bg-accent'}`}
                  style={{ left: share(stretch.start - start), width: share((stretch.end ?? now) - stretch.start) }}
                />
              ))}
            </span>
            <span className="text-right text-xs tabular-nums text-muted max-md:hidden">
              {step.durationMs === null ? '' : formatDuration(step.durationMs)}
            </span>
          </button>
        </li>
      ))}
    </ol>
  );
}
