import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { WorkflowDetail } from '../../../../sdk/typescript/src/index.ts';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { Copy } from '../../components/copy.tsx';
import { CheckField, TextArea, TextField } from '../../components/field.tsx';
import { Facts, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

/** What a workflow is called, whether it may be started, and whether its runs wait. */
export function Settings({ workflow }: { workflow: WorkflowDetail }) {
  const { api, environment, key, may } = useSession();
  const queries = useQueryClient();
  const [name, setName] = useState(workflow.name);
  const [description, setDescription] = useState(workflow.description ?? '');
  const [isActive, setActive] = useState(workflow.isActive);
  const body = { name, description: description || null, isActive };
  const refresh = async () => {
    await queries.invalidateQueries({ queryKey: key('workflow', workflow.id) });
    await queries.invalidateQueries({ queryKey: key('workflows') });
  };
  const save = useAction(async () => {
    await api.workflows.update(workflow.id, body);
    notify('Saved.');
    await refresh();
  });
  const pause = useAction(async () => {
    await (workflow.isPaused ? api.workflows.resume(workflow.id) : api.workflows.pause(workflow.id));
    await refresh();
  });
  return (
    <Section title="Settings">
      <Facts
        facts={[
          ['Id', <Copy key="id" text={workflow.id} />],
          ['Version', workflow.version],
          ['Runs', workflow.totalRuns.toLocaleString()],
          ['Created', <Time key="created" at={workflow.createdAt} />],
          ['Changed', <Time key="changed" at={workflow.updatedAt} />],
        ]}
      />
      <fieldset disabled={!may('member')} className="mx-0 mt-4 mb-0 border-0 p-0">
        {save.error !== undefined && <Problem error={save.error} />}
        {pause.error !== undefined && <Problem error={pause.error} />}
        <TextField label="Name" maxLength={100} value={name} onChange={({ target }) => setName(target.value)} />
        <TextArea
          label="Description"
          maxLength={500}
          value={description}
          onChange={({ target }) => setDescription(target.value)}
        />
        <CheckField
          label="Active: runs can be started"
          checked={isActive}
          onChange={({ target }) => setActive(target.checked)}
        />
        {may('member') && (
          <>
            <div className="flex gap-2">
              <Button look="primary" isBusy={save.isBusy} onClick={() => void save.run()}>
                Save settings
              </Button>
              <Button isBusy={pause.isBusy} onClick={() => void pause.run()}>
                {workflow.isPaused ? 'Resume: queued runs begin' : 'Pause: new runs wait'}
              </Button>
            </div>
            <RequestExample
              {...exampleOf(
                {
                  method: 'PATCH',
                  path: `/api/v1/workflows/${workflow.id}`,
                  body,
                  call: `workflows.update('${workflow.id}', ${JSON.stringify(body)})`,
                },
                environment,
              )}
            />
          </>
        )}
      </fieldset>
    </Section>
  );
}
