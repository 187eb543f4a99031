import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { WorkflowDetail } from '../../../../sdk/typescript/src/index.ts';
import { Button } from '../../components/button.tsx';
import { Json } from '../../components/code.tsx';
import { ConfirmButton } from '../../components/confirm.tsx';
import { useFilters } from '../../components/filters.ts';
import { Loading, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Pager, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useSession } from '../../session/context.tsx';

const limit = 20;

/** The versions of a workflow, newest first: what each changed, how it differs from the present one, and the way back. */
export function Versions({ workflow }: { workflow: WorkflowDetail }) {
  const { api, key, may } = useSession();
  const queries = useQueryClient();
  const { offset, setOffset } = useFilters([]);
  const [shown, setShown] = useState<number>();
  const versions = useQuery({
    queryKey: key('versions', workflow.id, offset),
    queryFn: ({ signal }) => api.workflows.versions.list(workflow.id, { limit, offset }, { signal }).page(),
  });
  const restore = async (version: number) => {
    await api.workflows.versions.restore(workflow.id, String(version));
    notify(`Version ${version} is the newest again.`);
    setShown(undefined);
    await queries.invalidateQueries({ queryKey: key('versions', workflow.id) });
    await queries.invalidateQueries({ queryKey: key('workflow', workflow.id) });
  };
  if (versions.error) return <Problem error={versions.error} retry={() => void versions.refetch()} />;
  if (!versions.data) return <Loading what="versions" />;
  return (
    <>
      <Table
        label="Versions"
        rows={versions.data.items}
        keyOf={({ version }) => String(version)}
        columns={[
          { title: 'Version', cell: ({ version, isCurrent }) => `${version}${isCurrent ? ' (current)' : ''}` },
          { title: 'Changed', cell: ({ changes }) => changes.join(', ') },
          { title: 'By', isWideOnly: true, cell: ({ createdBy }) => createdBy },
          { title: 'Saved', cell: ({ createdAt }) => <Time at={createdAt} isRelative /> },
          {
            title: 'Actions',
            cell: ({ version, isCurrent }) => (
              <span className="flex gap-2">
                <Button onClick={() => setShown(version === shown ? undefined : version)}>
                  {version === shown ? 'Hide' : 'Show'}
                </Button>
                {may('member') && !isCurrent && (
                  <ConfirmButton
                    question={`Restore version ${version}?`}
                    consequence="Its definition becomes a new version. No version is lost."
                    confirmLabel="Restore"
                    request={{
                      method: 'POST',
                      path: `/api/v1/workflows/${workflow.id}/versions/${version}/restore`,
                      call: `workflows.versions.restore('${workflow.id}', '${version}')`,
                    }}
                    onConfirm={() => restore(version)}
                  >
                    Restore
                  </ConfirmButton>
                )}
              </span>
            ),
          },
        ]}
      />
      <Pager page={versions.data} limit={limit} offset={offset} onOffset={setOffset} />
      {shown !== undefined && <Version key={shown} workflow={workflow} version={shown} />}
    </>
  );
}

function Version({ workflow, version }: { workflow: WorkflowDetail; version: number }) {
  const { api, key } = useSession();
  const detail = useQuery({
    queryKey: key('version', workflow.id, version),
    queryFn: ({ signal }) => api.workflows.versions.get(workflow.id, String(version), { signal }),
  });
  const difference = useQuery({
    queryKey: key('diff', workflow.id, version, workflow.version),
    queryFn: ({ signal }) =>
      api.workflows.versions.diff(workflow.id, String(version), { to: workflow.version }, { signal }),
    enabled: version !== workflow.version,
  });
  return (
    <div className="mt-5 grid gap-x-5 lg:grid-cols-2">
      <Section title={`Definition of version ${version}`}>
        {detail.error && <Problem error={detail.error} />}
        {detail.data && <Json label={`Definition of version ${version}`} value={detail.data.definition} />}
      </Section>
      {version !== workflow.version && (
        <Section title={`From version ${version} to ${workflow.version}`}>
          {difference.error && <Problem error={difference.error} />}
          {difference.data && <Json label="Difference as a JSON Patch" value={difference.data} />}
        </Section>
      )}
    </div>
  );
}
