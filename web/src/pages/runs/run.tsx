import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { Json, RequestExample } from '../../components/code.tsx';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Copy } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField } from '../../components/field.tsx';
import { Facts, Loading, Page, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Status } from '../../components/status.tsx';
import { Duration, Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import type { Filters } from '../../layout/address.ts';
import { useSession } from '../../session/context.tsx';
import { StepDetails } from './step-details.tsx';
import { stretchesOf } from './timeline.ts';
import { useRunEvents } from './use-run-events.ts';
import { Waterfall } from './waterfall.tsx';

const open = ['PENDING', 'RUNNING'];
const workflowIdInTemporal = (runId: string) => `run-${runId}`;

/** One run, live: its steps on a timeline, its input and output, and its actions. */
export default function Run() {
  const { runId } = useParams({ strict: false }) as { runId: string };
  const { account, api, environment, key, may } = useSession();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as Filters;
  const run = useQuery({
    queryKey: key('run', runId),
    queryFn: ({ signal }) => api.runs.get(runId, { signal }),
    // The stream has it read again; this is for streams that were lost.
    refetchInterval: (query) => (query.state.data && open.includes(query.state.data.status) ? 5_000 : false),
  });
  const { events, error: streamError } = useRunEvents(runId);

  if (run.error && !run.data) {
    return (
      <Page title="Run">
        <Problem error={run.error} retry={() => void run.refetch()} />
      </Page>
    );
  }
  if (!run.data) return <Loading what="the run" />;
  const record = run.data;
  const isOpen = open.includes(record.status);
  const selected = search.step;
  const step = record.steps.find((one) => (one.path ?? [one.stepId]).join('.') === selected);
  const select = (path: string) =>
    void navigate({
      to: '.',
      search: { ...search, step: path === selected ? undefined : path } as never,
      replace: true,
    });
  const cancel = async () => {
    await api.runs.cancel(runId);
    notify('The run is being cancelled.');
    await queries.invalidateQueries({ queryKey: key('run', runId) });
  };
  const cancelExample = { method: 'POST', path: `/api/v1/runs/${runId}/cancel`, call: `runs.cancel('${runId}')` };
  const temporal = account.temporalUrl && `${account.temporalUrl}/workflows/${workflowIdInTemporal(runId)}`;

  return (
    <Page
      title={`Run of ${record.workflowName}`}
      actions={
        <>
          {temporal && (
            <a href={temporal} target="_blank" rel="noreferrer" className="self-center">
              Open in Temporal
            </a>
          )}
          {may('member') && isOpen && (
            <ConfirmButton
              look="danger"
              question="Cancel this run?"
              consequence="Steps that have ended keep their results. A cancelled run can be retried."
              confirmLabel="Cancel the run"
              request={{ method: 'POST', path: `/api/v1/runs/${runId}/cancel`, call: `runs.cancel('${runId}')` }}
              onConfirm={cancel}
            >
              Cancel
            </ConfirmButton>
          )}
          {may('member') && !isOpen && <Retry runId={runId} steps={record.steps.map(({ stepId }) => stepId)} />}
        </>
      }
    >
      {run.error && <Problem error={run.error} retry={() => void run.refetch()} />}
      <Section title="Summary">
        <Facts
          facts={[
            ['Status', <Status key="status" value={record.status} />],
            ['Run', <Copy key="run" text={record.id} />],
            [
              'Workflow',
              <Link key="workflow" to={`/workflows/${record.workflowId}` as never}>
                {record.workflowName}
              </Link>,
            ],
            ['Version', record.version],
            ['Started by', record.triggeredBy.type],
            ['Created', <Time key="created" at={record.createdAt} />],
            ['Duration', <Duration key="duration" ms={record.durationMs} />],
            ['Tokens', record.tokensUsed?.toLocaleString() ?? '–'],
            ...(record.tags?.length ? ([['Tags', record.tags.join(', ')]] as [string, string][]) : []),
          ]}
        />
        {record.error && <Problem error={{ message: record.error }} />}
        {record.waitingFor?.map((wait) => (
          <p key={`${wait.stepId} ${wait.since}`} className="mt-3 mb-0 text-warn">
            The step {wait.stepId} waits for {waits[wait.type] ?? wait.type}
            {wait.until && (
              <>
                {' '}
                until <Time at={wait.until} />
              </>
            )}
            . {wait.approvalId && <Link to={'/inbox' as never}>Open the inbox</Link>}
          </p>
        ))}
        {may('member') && isOpen && <RequestExample {...exampleOf(cancelExample, environment)} />}
      </Section>
      <Section title="Timeline">
        {streamError !== undefined && <Problem error={streamError} />}
        <Waterfall steps={record.steps} stretches={stretchesOf(events)} selected={selected} onSelect={select} />
        {step && <StepDetails runId={runId} step={step} />}
      </Section>
      <div className="grid gap-x-5 lg:grid-cols-2">
        <Section title="Input">
          <Json label="Input" value={record.input} />
        </Section>
        <Section title="Output">
          <Json label="Output" value={record.output?.result ?? null} />
        </Section>
      </div>
      <Section title="Events">
        <ol className="m-0 max-h-80 list-none overflow-y-auto p-0" aria-label="Events">
          {events.map((event, index) => (
            <li key={index} className="flex flex-wrap gap-3 py-0.5">
              <Time at={event.at} />
              <code className="font-mono text-xs">{event.type}</code>
              <span>{event.path?.join('.') ?? event.stepId}</span>
            </li>
          ))}
        </ol>
      </Section>
    </Page>
  );
}

const waits: Record<string, string> = {
  wait: 'a time',
  event: 'an event',
  approval: 'an approval',
  workflow: 'another run',
  slot: 'a free slot',
};

/** Starts a new run of the same input, from any step. */
function Retry({ runId, steps }: { runId: string; steps: string[] }) {
  const { api, environment } = useSession();
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  const [fromStep, setFromStep] = useState('');
  const [definition, setDefinition] = useState<'pinned' | 'current'>('pinned');
  const body = { ...(fromStep && { fromStep }), definition };
  const retry = useAction(async () => {
    const started = await api.runs.retry(runId, body);
    notify('A new run has been started.');
    setOpen(false);
    await navigate({ to: '/runs/$runId', params: { runId: started.runId } });
  });
  return (
    <>
      <Button look="primary" onClick={() => setOpen(true)}>
        Retry
      </Button>
      <Dialog
        title="Retry this run"
        description="A new run reuses the results of the steps before the step that it starts from."
        isOpen={isOpen}
        onClose={() => setOpen(false)}
      >
        {retry.error !== undefined && <Problem error={retry.error} />}
        <SelectField
          label="From step"
          value={fromStep}
          onChange={({ target }) => setFromStep(target.value)}
          options={[
            { value: '', label: 'The first step that did not complete' },
            ...[...new Set(steps)].map((value) => ({ value, label: value })),
          ]}
        />
        <SelectField
          label="Definition"
          value={definition}
          onChange={({ target }) => setDefinition(target.value as typeof definition)}
          options={[
            { value: 'pinned', label: 'The one that this run had' },
            { value: 'current', label: 'The one that the workflow has now' },
          ]}
        />
        <div className="flex justify-end gap-2">
          <Button onClick={() => setOpen(false)}>Cancel</Button>
          <Button look="primary" isBusy={retry.isBusy} onClick={() => void retry.run()}>
            Start the run
          </Button>
        </div>
        <RequestExample
          {...exampleOf(
            {
              method: 'POST',
              path: `/api/v1/runs/${runId}/retry`,
              body,
              call: `runs.retry('${runId}', ${JSON.stringify(body)})`,
            },
            environment,
          )}
        />
      </Dialog>
    </>
  );
}
