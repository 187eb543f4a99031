import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { WorkflowDetail } from '../../../../sdk/typescript/src/index.ts';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { Code, RequestExample } from '../../components/code.tsx';
import { TextField } from '../../components/field.tsx';
import { Loading, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

interface Trigger {
  event: string;
  filter: string;
  inputs: string;
}

/** What starts runs of the workflow from outside: events, and requests to its own address. */
export function TriggersPanel({ workflow }: { workflow: WorkflowDetail }) {
  const { api, key } = useSession();
  const triggers = useQuery({
    queryKey: key('triggers', workflow.id),
    queryFn: ({ signal }) => api.workflows.triggers.get(workflow.id, { signal }),
  });
  if (!triggers.data) {
    if (triggers.error) return <Problem error={triggers.error} retry={() => void triggers.refetch()} />;
    return <Loading what="triggers" />;
  }
  const initial = triggers.data.triggers.map(({ event, filter, inputs }) => ({
    event,
    filter: filter ?? '',
    inputs: inputs ? JSON.stringify(inputs) : '',
  }));
  return (
    <>
      {triggers.error && <Problem error={triggers.error} retry={() => void triggers.refetch()} />}
      <Section title="Events">
        {triggers.data.triggers.map(({ event, lastFiredAt, lastSkipped }) => (
          <p key={event} className="mt-0 text-sm text-muted">
            <code>{event}</code> last started a run: <Time at={lastFiredAt} isRelative />
            {lastSkipped && (
              <>
                ; it was skipped <Time at={lastSkipped.at} isRelative /> ({lastSkipped.reason})
              </>
            )}
          </p>
        ))}
        {/* What is typed stays when the same is read again. */}
        <TriggerForm key={JSON.stringify(initial)} workflow={workflow} initial={initial} />
      </Section>
      <Section title="Requests">
        <p className="mt-0">A request to this address, with an API key, starts a run with its body.</p>
        <Code label="Address" text={`${location.origin}/api/v1/webhooks/${workflow.id}`} />
      </Section>
    </>
  );
}

function TriggerForm({ workflow, initial }: { workflow: WorkflowDetail; initial: Trigger[] }) {
  const { api, environment, key, may } = useSession();
  const queries = useQueryClient();
  const [triggers, setTriggers] = useState(initial);
  const bodyOf = () => ({
    triggers: triggers.map(({ event, filter, inputs }) => ({
      event,
      ...(filter && { filter }),
      ...(inputs && { inputs: JSON.parse(inputs) as Record<string, string> }),
    })),
  });
  const save = useAction(async () => {
    await api.workflows.triggers.put(workflow.id, bodyOf());
    notify('Saved.');
    await queries.invalidateQueries({ queryKey: key('triggers', workflow.id) });
  });
  const change = (index: number, changed: Partial<Trigger>) =>
    setTriggers(triggers.with(index, { ...triggers[index]!, ...changed }));
  let body: unknown = { triggers: [] };
  try {
    body = bodyOf();
  } catch {
    // The inputs of a trigger are being typed.
  }
  return (
    <fieldset disabled={!may('member')} className="m-0 border-0 p-0">
      {save.error !== undefined && <Problem error={save.error} />}
      {triggers.map((trigger, index) => (
        <div key={index} className="mb-2 grid items-end gap-x-3 md:grid-cols-[1fr_1fr_1fr_auto]">
          <TextField
            label="Event"
            value={trigger.event}
            onChange={({ target }) => change(index, { event: target.value })}
          />
          <TextField
            label="Filter (optional)"
            placeholder="event.data.total > 100"
            value={trigger.filter}
            onChange={({ target }) => change(index, { filter: target.value })}
          />
          <TextField
            label="Inputs (optional)"
            placeholder='{"name": "event.data.name"}'
            value={trigger.inputs}
            onChange={({ target }) => change(index, { inputs: target.value })}
          />
          <Button className="mb-3" onClick={() => setTriggers(triggers.toSpliced(index, 1))}>
            Remove
          </Button>
        </div>
      ))}
      {may('member') && (
        <>
          <div className="flex gap-2">
            <Button onClick={() => setTriggers([...triggers, { event: '', filter: '', inputs: '' }])}>
              Add a trigger
            </Button>
            <Button look="primary" isBusy={save.isBusy} onClick={() => void save.run()}>
              Save triggers
            </Button>
          </div>
          <RequestExample
            {...exampleOf(
              {
                method: 'PUT',
                path: `/api/v1/workflows/${workflow.id}/triggers`,
                body,
                call: `workflows.triggers.put('${workflow.id}', ${JSON.stringify(body)})`,
              },
              environment,
            )}
          />
        </>
      )}
    </fieldset>
  );
}
