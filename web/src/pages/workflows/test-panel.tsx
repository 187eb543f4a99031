import { useState } from 'react';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { Json, RequestExample } from '../../components/code.tsx';
import { useDraft } from '../../components/draft.ts';
import { Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Status } from '../../components/status.tsx';
import { Table } from '../../components/table.tsx';
import { Duration } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';
import { JsonEditor } from './json-editor.tsx';
import { type RunArguments, VariablesInput, type WorkflowWithInputs } from './variables-input.tsx';

interface TestedStep {
  stepId: string;
  name: string;
  path?: readonly (string | number)[];
  status: string;
  durationMs: number | null;
  output?: unknown;
  error: { message: string; code: string } | null;
}
interface TestedRun {
  status: string;
  error: string | null;
  output: { result?: unknown } | null;
  durationMs: number | null;
  steps: TestedStep[];
}

/** Runs the workflow in the sandbox, with given results of steps. Nothing is charged, sent or booked. */
export function TestPanel({ workflow }: { workflow: WorkflowWithInputs }) {
  const { api, environment } = useSession();
  const [given, setGiven] = useState<RunArguments>({});
  const [mocks, setMocks] = useDraft(`mocks.${workflow.id}`, '{}');
  const [result, setResult] = useState<TestedRun>();
  let readMocks: Record<string, unknown> | undefined;
  let mocksProblem: string | undefined;
  try {
    readMocks = JSON.parse(mocks) as Record<string, unknown>;
  } catch (error) {
    mocksProblem = (error as Error).message;
  }
  const body = { ...given, mocks: readMocks ?? {} };
  const test = useAction(async () => {
    setResult((await api.workflows.test(workflow.id, body as never)) as unknown as TestedRun);
  });
  return (
    <>
      <Section title="Test this workflow">
        <p className="mt-0 text-muted">
          A test run uses the sandbox. It costs nothing, sends nothing, and does not count.
        </p>
        {test.error !== undefined && <Problem error={test.error} />}
        <VariablesInput workflow={workflow} value={given} onChange={setGiven} />
        <h3 className="mb-1 text-sm font-medium">Mocks</h3>
        <p className="mt-0 text-xs text-muted">
          Results by the ids of steps: <code>{'{"fetch": {"output": {"status": 200}}}'}</code> or{' '}
          <code>{'{"fetch": {"error": {"message": "…", "code": "http_error"}}}'}</code>
        </p>
        <JsonEditor
          label="Mocks"
          rows={6}
          text={mocks}
          onChange={setMocks}
          problems={mocksProblem ? [{ path: '', message: mocksProblem }] : []}
        />
        <Button
          look="primary"
          className="mt-3"
          disabled={mocksProblem !== undefined}
          isBusy={test.isBusy}
          onClick={() => void test.run()}
        >
          Test
        </Button>
        <RequestExample
          {...exampleOf(
            {
              method: 'POST',
              path: `/api/v1/workflows/${workflow.id}/test`,
              body,
              call: `workflows.test('${workflow.id}', ${JSON.stringify(body)})`,
            },
            environment,
          )}
        />
      </Section>
      {result && (
        <Section title="Result">
          <p className="mt-0">
            <Status value={result.status} /> in <Duration ms={result.durationMs} />
          </p>
          {result.error && <Problem error={{ message: result.error }} />}
          <Table
            label="Steps"
            rows={result.steps}
            keyOf={({ path, stepId }) => path?.join('.') ?? stepId}
            columns={[
              { title: 'Step', cell: ({ name, path, stepId }) => name || (path?.join('.') ?? stepId) },
              { title: 'Status', cell: ({ status }) => <Status value={status} /> },
              { title: 'Error', cell: ({ error }) => error?.message },
              { title: 'Duration', isNumber: true, cell: ({ durationMs }) => <Duration ms={durationMs} /> },
            ]}
          />
          <h3 className="mb-1 text-sm font-medium">Output</h3>
          <Json label="Output of the test" value={result.output?.result ?? null} />
        </Section>
      )}
    </>
  );
}
