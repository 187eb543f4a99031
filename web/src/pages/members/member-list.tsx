import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ConfirmButton } from '../../components/confirm.tsx';
import { SelectField } from '../../components/field.tsx';
import { useFilters } from '../../components/filters.ts';
import { Loading } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Pager, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';
import type { Role } from '../../session/session.ts';
import { rolesFor } from './roles.ts';

const limit = 50;

/** Who belongs to the organization, with their roles. */
export function MemberList() {
  const { account, api, key, may, organization } = useSession();
  const queries = useQueryClient();
  const { offset, setOffset } = useFilters([]);
  const members = useQuery({
    queryKey: key('members', offset),
    queryFn: ({ signal }) => api.members.list({ limit, offset }, { signal }).page(),
  });
  const refresh = () => queries.invalidateQueries({ queryKey: key('members') });
  const change = useAction(async (id: string, role: Role) => {
    await api.members.update(id, { role });
    notify('The role has been changed.');
    await refresh();
  });
  const remove = async (id: string) => {
    await api.members.delete(id);
    notify('The member has been removed.');
    await refresh();
  };
  if (members.error) return <Problem error={members.error} retry={() => void members.refetch()} />;
  if (!members.data) return <Loading what="members" />;
  const offered = rolesFor(organization.role);
  /** Owners alone change owners. */
  const mayChange = (role: Role) => may('admin') && (role !== 'owner' || may('owner'));
  return (
    <>
      {change.error !== undefined && <Problem error={change.error} />}
      <Table
        label="Members"
        rows={members.data.items}
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Person',
            cell: ({ name, email }) => (
              <>
                <strong>{name || email}</strong>
                <span className="block text-xs text-muted">{email}</span>
              </>
            ),
          },
          {
            title: 'Role',
            cell: ({ id, email, role }) =>
              mayChange(role) ? (
                <SelectField
                  label={`Role of ${email}`}
                  isLabelHidden
                  value={role}
                  onChange={({ target }) => void change.run(id, target.value as Role)}
                  options={[...new Set([role, ...offered])].map((value) => ({ value, label: value }))}
                />
              ) : (
                role
              ),
          },
          { title: 'Since', isWideOnly: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
          { title: 'Last seen', isWideOnly: true, cell: ({ lastSeenAt }) => <Time at={lastSeenAt} isRelative /> },
          {
            title: 'Actions',
            cell: ({ id, email, role }) =>
              mayChange(role) && (
                <ConfirmButton
                  look="danger"
                  question={email === account.user.email ? 'Leave the organization?' : `Remove ${email}?`}
                  consequence="All of their sessions end at once. Keys that they created stay."
                  confirmLabel="Remove"
                  onConfirm={() => remove(id)}
                >
                  Remove
                </ConfirmButton>
              ),
          },
        ]}
      />
      <Pager page={members.data} limit={limit} offset={offset} onOffset={setOffset} />
    </>
  );
}
