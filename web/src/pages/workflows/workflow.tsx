import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { ConfirmButton } from '../../components/confirm.tsx';
import { Loading, Page } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { notify } from '../../components/toast.tsx';
import { useSession } from '../../session/context.tsx';
import { Editor } from './editor.tsx';
import { RunPanel } from './run-panel.tsx';
import { SchedulePanel } from './schedule-panel.tsx';
import { Settings } from './settings.tsx';
import { TestPanel } from './test-panel.tsx';
import { TriggersPanel } from './triggers-panel.tsx';
import type { WorkflowWithInputs } from './variables-input.tsx';
import { Versions } from './versions.tsx';

/** One workflow: its definition, what starts it, its versions, and the ways to run and test it. */
export default function Workflow() {
  const { workflowId } = useParams({ strict: false }) as { workflowId: string };
  const { api, key, may } = useSession();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const workflow = useQuery({
    queryKey: key('workflow', workflowId),
    // The record of a workflow has no inputs: those of its version are its. Both are read together, because a document with
    // the inputs of an earlier version would be saved with them.
    queryFn: async ({ signal }): Promise<WorkflowWithInputs> => {
      const record = await api.workflows.get(workflowId, { signal });
      const { definition } = await api.workflows.versions.get(workflowId, String(record.version), { signal });
      return { ...record, inputs: definition.inputs };
    },
  });
  const { error } = workflow;
  const refetch = () => void workflow.refetch();
  if (!workflow.data) {
    if (!error) return <Loading what="the workflow" />;
    return (
      <Page title="Workflow">
        <Problem error={error} retry={refetch} />
      </Page>
    );
  }
  const detail = workflow.data;
  const remove = async () => {
    await api.workflows.delete(workflowId);
    await queries.invalidateQueries({ queryKey: key('workflows') });
    notify('The workflow has been deleted.');
    await navigate({ to: '/workflows' });
  };
  return (
    <Page
      title={detail.name}
      actions={
        may('member') && (
          <ConfirmButton
            look="danger"
            question={`Delete ${detail.name}?`}
            consequence="The workflow and all of its runs are deleted for good."
            confirmLabel="Delete the workflow"
            request={{
              method: 'DELETE',
              path: `/api/v1/workflows/${workflowId}`,
              call: `workflows.delete('${workflowId}')`,
            }}
            onConfirm={remove}
          >
            Delete
          </ConfirmButton>
        )
      }
    >
      {error && <Problem error={error} retry={refetch} />}
      <Tabs
        tabs={[
          { name: 'definition', title: 'Definition', content: () => <Editor workflow={detail} /> },
          ...(may('member')
            ? [
                { name: 'run', title: 'Run', content: () => <RunPanel workflow={detail} /> },
                { name: 'test', title: 'Test', content: () => <TestPanel workflow={detail} /> },
              ]
            : []),
          { name: 'versions', title: 'Versions', content: () => <Versions workflow={detail} /> },
          { name: 'triggers', title: 'Triggers', content: () => <TriggersPanel workflow={detail} /> },
          { name: 'schedule', title: 'Schedule', content: () => <SchedulePanel workflow={detail} /> },
          { name: 'settings', title: 'Settings', content: () => <Settings workflow={detail} /> },
        ]}
      />
    </Page>
  );
}
