import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { TextField } from '../../components/field.tsx';
import { Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';
import { type RunArguments, VariablesInput, type WorkflowWithInputs } from './variables-input.tsx';

/** Starts a run, and leads to it. */
export function RunPanel({ workflow }: { workflow: WorkflowWithInputs }) {
  const { api, environment } = useSession();
  const navigate = useNavigate();
  const [given, setGiven] = useState<RunArguments>({});
  const [tags, setTags] = useState('');
  const tagList = tags.split(',').flatMap((tag) => tag.trim() || []);
  // The run is followed on its own page, so its start is all that this request waits for.
  const body = { ...given, ...(tagList.length > 0 && { tags: tagList }), async: true };
  const start = useAction(async () => {
    const started = await api.workflows.execute(workflow.id, body as never);
    if ('runId' in started && started.runId !== null) {
      await navigate({ to: '/runs/$runId', params: { runId: started.runId } });
    } else {
      notify('The run was skipped: the workflow has as many runs as its concurrency allows.');
    }
  });
  return (
    <Section title="Run this workflow">
      {!workflow.isActive && (
        <p className="text-warn">
          The workflow is inactive.{' '}
          <Link to="." search={{ tab: 'settings' } as never}>
            Activate it
          </Link>{' '}
          to run it.
        </p>
      )}
      {start.error !== undefined && <Problem error={start.error} />}
      <VariablesInput workflow={workflow} value={given} onChange={setGiven} />
      <TextField
        label="Tags (optional)"
        hint="Separated by commas."
        value={tags}
        onChange={({ target }) => setTags(target.value)}
      />
      <Button look="primary" disabled={!workflow.isActive} isBusy={start.isBusy} onClick={() => void start.run()}>
        Run
      </Button>
      <RequestExample
        {...exampleOf(
          {
            method: 'POST',
            path: `/api/v1/workflows/${workflow.id}/execute`,
            body,
            call: `workflows.execute('${workflow.id}', ${JSON.stringify(body)})`,
          },
          environment,
        )}
      />
    </Section>
  );
}
