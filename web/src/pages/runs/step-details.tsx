import { useQuery } from '@tanstack/react-query';
import { Json } from '../../components/code.tsx';
import { Facts } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Duration } from '../../components/time.tsx';
import { useSession } from '../../session/context.tsx';

export interface StepResult {
  stepId: string;
  name: string;
  path?: readonly (string | number)[] | undefined;
  status: string;
  attempts: number;
  output?: unknown;
  error: { message: string; code: string; details?: unknown } | null;
  provider: string | null;
  model: string | null;
  tokensUsed: number | null;
  durationMs: number | null;
  toolCalls?: unknown[] | undefined;
  warnings: { code: string; name: string }[];
  warningsTotal: number;
}

const isReference = (value: unknown): value is { $ref: string; bytes: number } =>
  typeof value === 'object' && value !== null && '$ref' in value && 'bytes' in value;

/** What one step got, did and gave. */
export function StepDetails({ runId, step }: { runId: string; step: StepResult }) {
  return (
    <div className="mt-3 border-t border-line pt-3">
      <h3 className="mt-0 mb-2 text-sm font-semibold">{step.name}</h3>
      <Facts
        facts={[
          ['Status', step.status],
          ['Attempts', step.attempts],
          ['Duration', <Duration key="duration" ms={step.durationMs} />],
          ['Model', step.model ?? '–'],
          ['Tokens', step.tokensUsed?.toLocaleString() ?? '–'],
        ]}
      />
      {step.error && (
        <>
          <Problem error={step.error} />
          {step.error.details !== undefined && <Json label="Details of the error" value={step.error.details} />}
        </>
      )}
      {step.warnings.length > 0 && (
        <p className="text-warn">
          {step.warningsTotal} {step.warningsTotal === 1 ? 'warning' : 'warnings'}:{' '}
          {step.warnings.map(({ code, name }) => `${code} (${name})`).join(', ')}
        </p>
      )}
      {step.toolCalls && step.toolCalls.length > 0 && (
        <>
          <h4 className="mt-3 mb-1 text-sm font-medium">Tool calls</h4>
          <Json label="Tool calls" value={step.toolCalls} />
        </>
      )}
      {step.output !== undefined && (
        <>
          <h4 className="mt-3 mb-1 text-sm font-medium">Output</h4>
          <Value
            runId={runId}
            stepId={step.stepId}
            path={step.path?.join('.')}
            value={step.output}
            label="Output of the step"
          />
        </>
      )}
    </div>
  );
}

/** A value of a run. A large one is only a reference in the record, and is read on request. */
function Value({
  runId,
  stepId,
  path,
  value,
  label,
}: {
  runId: string;
  stepId: string;
  path: string | undefined;
  value: unknown;
  label: string;
}) {
  const { api, key } = useSession();
  const whole = useQuery({
    queryKey: key('output', runId, path ?? stepId),
    queryFn: ({ signal }) => api.runs.outputs.get(runId, stepId, path === undefined ? {} : { path }, { signal }),
    enabled: false,
  });
  if (!isReference(value)) return <Json label={label} value={value} />;
  if (whole.data !== undefined) return <Json label={label} value={whole.data} />;
  return (
    <>
      {whole.error && <Problem error={whole.error} />}
      <button type="button" className="underline" onClick={() => void whole.refetch()}>
        Show {Math.ceil(value.bytes / 1024).toLocaleString()} KiB
      </button>
    </>
  );
}
