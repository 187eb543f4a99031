import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  type NewSchedule,
  NotFoundError,
  type Schedule,
  type WorkflowDetail,
} from '../../../../sdk/typescript/src/index.ts';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { ConfirmButton } from '../../components/confirm.tsx';
import { CheckField, TextArea, TextField } from '../../components/field.tsx';
import { Empty, Facts, Loading, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { jsonOrText } from '../../components/schema-form.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

/** When the workflow runs by itself. */
export function SchedulePanel({ workflow }: { workflow: WorkflowDetail }) {
  const { api, key, may } = useSession();
  const queries = useQueryClient();
  const schedule = useQuery({
    queryKey: key('schedule', workflow.id),
    queryFn: async ({ signal }) => {
      try {
        return await api.workflows.schedule.get(workflow.id, { signal });
      } catch (error) {
        if (error instanceof NotFoundError) return null;
        throw error;
      }
    },
  });
  const remove = async () => {
    await api.workflows.schedule.delete(workflow.id);
    notify('The schedule has been removed.');
    await queries.invalidateQueries({ queryKey: key('schedule', workflow.id) });
  };
  if (schedule.data === undefined) {
    if (schedule.error) return <Problem error={schedule.error} retry={() => void schedule.refetch()} />;
    return <Loading what="the schedule" />;
  }
  const asked = schedule.data ? askedOf(schedule.data) : undefined;
  return (
    <>
      {schedule.error && <Problem error={schedule.error} retry={() => void schedule.refetch()} />}
      {schedule.data ? (
        <Section
          title="Next times"
          actions={
            may('member') && (
              <ConfirmButton
                look="danger"
                question="Remove the schedule?"
                consequence="The workflow no longer starts by itself."
                confirmLabel="Remove"
                request={{
                  method: 'DELETE',
                  path: `/api/v1/workflows/${workflow.id}/schedule`,
                  call: `workflows.schedule.delete('${workflow.id}')`,
                }}
                onConfirm={remove}
              >
                Remove the schedule
              </ConfirmButton>
            )
          }
        >
          {schedule.data.paused && <p className="mt-0 text-warn">The schedule is paused and starts no runs.</p>}
          <ol className="mt-0">
            {schedule.data.nextRunTimes.map((at) => (
              <li key={at}>
                <Time at={at} />
              </li>
            ))}
          </ol>
          <Facts
            facts={[
              ['Last run', <Time key="last" at={schedule.data.lastRunAt} isRelative />],
              [
                'Last skipped',
                schedule.data.lastSkipped ? (
                  <span key="skipped">
                    <Time at={schedule.data.lastSkipped.at} isRelative /> ({schedule.data.lastSkipped.reason})
                  </span>
                ) : (
                  '–'
                ),
              ],
            ]}
          />
        </Section>
      ) : (
        !may('member') && <Empty title="This workflow has no schedule" />
      )}
      {may('member') && (
        // What is typed stays when the same is read again.
        <ScheduleForm key={JSON.stringify(asked ?? null)} workflow={workflow} schedule={asked} />
      )}
    </>
  );
}

/** What a schedule was made of, without what is known of its runs. */
function askedOf({ nextRunTimes: _, lastRunAt: __, lastSkipped: ___, ...asked }: Schedule): NewSchedule {
  return asked;
}

function ScheduleForm({ workflow, schedule }: { workflow: WorkflowDetail; schedule: NewSchedule | undefined }) {
  const { api, environment, key } = useSession();
  const queries = useQueryClient();
  const [cron, setCron] = useState(schedule?.cron ?? '0 9 * * 1-5');
  const [timezone, setTimezone] = useState(schedule?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone);
  const [isPaused, setPaused] = useState(schedule?.paused ?? false);
  const [input, setInput] = useState(schedule?.input === undefined ? '' : JSON.stringify(schedule.input));
  // The form has no fields for the rest, such as variables and tags: saving keeps it.
  const { input: _, ...kept } = schedule ?? {};
  const body = { ...kept, cron, timezone, paused: isPaused, ...(input && { input: jsonOrText(input) }) };
  const save = useAction(async () => {
    await api.workflows.schedule.put(workflow.id, body);
    notify('Saved.');
    await queries.invalidateQueries({ queryKey: key('schedule', workflow.id) });
  });
  return (
    <Section title={schedule ? 'Change the schedule' : 'Add a schedule'}>
      {save.error !== undefined && <Problem error={save.error} />}
      <div className="grid gap-x-3 md:grid-cols-2">
        <TextField
          label="Times"
          hint="Minute, hour, day of the month, month, day of the week, as in crontab."
          value={cron}
          onChange={({ target }) => setCron(target.value)}
        />
        <TextField
          label="Time zone"
          list="time-zones"
          value={timezone}
          onChange={({ target }) => setTimezone(target.value)}
        />
        <datalist id="time-zones">
          {Intl.supportedValuesOf('timeZone').map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
      </div>
      <TextArea
        label="Input (optional)"
        hint="Text, or JSON."
        value={input}
        onChange={({ target }) => setInput(target.value)}
      />
      <CheckField label="Paused" checked={isPaused} onChange={({ target }) => setPaused(target.checked)} />
      <Button look="primary" isBusy={save.isBusy} onClick={() => void save.run()}>
        Save the schedule
      </Button>
      <RequestExample
        {...exampleOf(
          {
            method: 'PUT',
            path: `/api/v1/workflows/${workflow.id}/schedule`,
            body,
            call: `workflows.schedule.put('${workflow.id}', ${JSON.stringify(body)})`,
          },
          environment,
        )}
      />
    </Section>
  );
}
