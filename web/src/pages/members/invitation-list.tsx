import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { ConfirmButton } from '../../components/confirm.tsx';
import { SelectField, TextField } from '../../components/field.tsx';
import { useFilters } from '../../components/filters.ts';
import { Empty, Loading, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Status } from '../../components/status.tsx';
import { Pager, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';
import type { Role } from '../../session/session.ts';
import { rolesFor } from './roles.ts';

const limit = 50;

/** The invitations. An invitation is mailed, is valid for 48 hours and works once. */
export function InvitationList() {
  const { api, key, may } = useSession();
  const queries = useQueryClient();
  const { offset, setOffset } = useFilters([]);
  const invitations = useQuery({
    queryKey: key('invitations', offset),
    queryFn: ({ signal }) => api.invitations.list({ limit, offset }, { signal }).page(),
  });
  const refresh = () => queries.invalidateQueries({ queryKey: key('invitations') });
  const remove = async (id: string) => {
    await api.invitations.delete(id);
    notify('The invitation has been withdrawn.');
    await refresh();
  };
  return (
    <>
      {may('admin') && <Invite onSent={refresh} />}
      {invitations.error && <Problem error={invitations.error} retry={() => void invitations.refetch()} />}
      {invitations.isPending && <Loading what="invitations" />}
      {invitations.data?.total === 0 && <Empty title="No invitations" />}
      {invitations.data && invitations.data.total > 0 && (
        <>
          <Table
            label="Invitations"
            rows={invitations.data.items}
            keyOf={({ id }) => id}
            columns={[
              { title: 'E-mail', cell: ({ email }) => email },
              { title: 'Role', cell: ({ role }) => role },
              { title: 'Status', cell: ({ status }) => <Status value={status} /> },
              { title: 'Expires', cell: ({ expiresAt }) => <Time at={expiresAt} isRelative /> },
              {
                title: 'Actions',
                cell: ({ id, email, status }) =>
                  may('admin') &&
                  status === 'pending' && (
                    <ConfirmButton
                      look="danger"
                      question={`Withdraw the invitation of ${email}?`}
                      consequence="Its link no longer works."
                      confirmLabel="Withdraw"
                      onConfirm={() => remove(id)}
                    >
                      Withdraw
                    </ConfirmButton>
                  ),
              },
            ]}
          />
          <Pager page={invitations.data} limit={limit} offset={offset} onOffset={setOffset} />
        </>
      )}
    </>
  );
}

function Invite({ onSent }: { onSent(): Promise<void> }) {
  const { api, organization } = useSession();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('member');
  const invite = useAction(async () => {
    await api.invitations.create({ email, role });
    setEmail('');
    notify('The invitation has been sent.');
    await onSent();
  });
  return (
    <Section title="Invite a person">
      <form
        className="flex flex-wrap items-end gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          void invite.run();
        }}
      >
        <TextField
          label="E-mail address"
          type="email"
          required
          value={email}
          onChange={({ target }) => setEmail(target.value)}
        />
        <SelectField
          label="Role"
          value={role}
          onChange={({ target }) => setRole(target.value as Role)}
          options={rolesFor(organization.role).map((value) => ({ value, label: value }))}
        />
        <Button look="primary" type="submit" className="mb-3" isBusy={invite.isBusy}>
          Invite
        </Button>
      </form>
      {invite.error !== undefined && <Problem error={invite.error} />}
    </Section>
  );
}
