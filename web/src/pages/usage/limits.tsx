import { useQuery } from '@tanstack/react-query';
import { Loading } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { useSession } from '../../session/context.tsx';
import { limitName, limitNumber } from './limit-names.ts';

/** Every limit of the plan with what is used of it. */
export function Limits() {
  const { api, key } = useSession();
  const limits = useQuery({ queryKey: key('limits'), queryFn: ({ signal }) => api.limits.get({ signal }) });
  if (limits.error) return <Problem error={limits.error} retry={() => void limits.refetch()} />;
  if (!limits.data) return <Loading what="limits" />;
  return (
    <>
      <p className="mt-0">The plan is {limits.data.plan}.</p>
      <Table
        label="Limits"
        rows={limits.data.limits}
        keyOf={({ name }) => name}
        columns={[
          { title: 'Limit', cell: ({ name }) => limitName(name) },
          { title: 'Used', isNumber: true, cell: ({ name, used }) => (used === null ? '–' : limitNumber(name, used)) },
          { title: 'Allowed', isNumber: true, cell: ({ name, allowed }) => limitNumber(name, allowed) },
          { title: 'Resets', cell: ({ resetsAt }) => <Time at={resetsAt} isRelative /> },
        ]}
      />
    </>
  );
}
