import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Organization } from '../../../../sdk/typescript/src/index.ts';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { Copy } from '../../components/copy.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/field.tsx';
import { Facts, Loading, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

/** The name of the organization, its redirect addresses, and its deletion. */
export function OrganizationSettings() {
  const { api, key, may } = useSession();
  const organization = useQuery({
    queryKey: key('organization'),
    queryFn: ({ signal }) => api.organization.get({ signal }),
  });
  if (!organization.data) {
    if (organization.error) return <Problem error={organization.error} retry={() => void organization.refetch()} />;
    return <Loading what="the organization" />;
  }
  return (
    <>
      {organization.error && <Problem error={organization.error} retry={() => void organization.refetch()} />}
      {/* What is typed stays when the same is read again. */}
      <Form key={JSON.stringify(organization.data)} organization={organization.data} />
      <RedirectUrls />
      {may('owner') && <Delete organization={organization.data} />}
    </>
  );
}

function Form({ organization }: { organization: Organization }) {
  const { api, key, may, environment } = useSession();
  const queries = useQueryClient();
  const [name, setName] = useState(organization.name);
  const [slug, setSlug] = useState(organization.slug);
  const [contactEmail, setContactEmail] = useState(organization.contactEmail ?? '');
  const body = { name, slug, ...(contactEmail && { contactEmail }) };
  const save = useAction(async () => {
    await api.organization.update(body);
    notify('Saved.');
    await queries.invalidateQueries({ queryKey: key('organization') });
    await queries.invalidateQueries({ queryKey: ['account'] });
  });
  return (
    <Section title="Organization">
      <Facts
        facts={[
          ['Id', <Copy key="id" text={organization.id} />],
          ['Plan', organization.plan],
          ['Created', <Time key="created" at={organization.createdAt} />],
        ]}
      />
      <fieldset disabled={!may('admin')} className="mx-0 mt-4 mb-0 border-0 p-0">
        {save.error !== undefined && <Problem error={save.error} />}
        <TextField label="Name" value={name} onChange={({ target }) => setName(target.value)} />
        <TextField
          label="Slug"
          hint="Part of the addresses of booking pages."
          value={slug}
          onChange={({ target }) => setSlug(target.value)}
        />
        <TextField
          label="Contact address"
          type="email"
          value={contactEmail}
          onChange={({ target }) => setContactEmail(target.value)}
        />
        {may('admin') && (
          <Button look="primary" isBusy={save.isBusy} onClick={() => void save.run()}>
            Save
          </Button>
        )}
      </fieldset>
      {may('admin') && (
        <RequestExample
          {...exampleOf(
            {
              method: 'PATCH',
              path: '/api/v1/organization',
              body,
              call: `organization.update(${JSON.stringify(body)})`,
            },
            environment,
          )}
        />
      )}
    </Section>
  );
}

function RedirectUrls() {
  const { api, key, may, environment } = useSession();
  const queries = useQueryClient();
  const [url, setUrl] = useState('');
  const redirects = useQuery({
    queryKey: key('redirects'),
    queryFn: ({ signal }) => api.redirectUrls.list({ signal }).page(),
  });
  const change = useAction(async (way: 'add' | 'remove', changed: string) => {
    await (way === 'add' ? api.redirectUrls.create({ url: changed }) : api.redirectUrls.delete({ url: changed }));
    if (way === 'add') setUrl('');
    await queries.invalidateQueries({ queryKey: key('redirects') });
  });
  return (
    <Section title="Redirect addresses">
      <p className="mt-0 text-muted">Where people may be sent after they have connected an account.</p>
      {redirects.error && <Problem error={redirects.error} />}
      {change.error !== undefined && <Problem error={change.error} />}
      <ul className="m-0 list-none p-0">
        {redirects.data?.items.map((allowed) => (
          <li key={allowed} className="flex items-center justify-between gap-2 py-1">
            <code className="font-mono text-xs">{allowed}</code>
            {may('admin') && (
              <Button aria-label={`Remove ${allowed}`} onClick={() => void change.run('remove', allowed)}>
                Remove
              </Button>
            )}
          </li>
        ))}
      </ul>
      {may('admin') && (
        <form
          className="mt-2 flex items-end gap-2"
          onSubmit={(event) => {
            event.preventDefault();
            void change.run('add', url);
          }}
        >
          <TextField label="Address" type="url" required value={url} onChange={({ target }) => setUrl(target.value)} />
          <Button type="submit" className="mb-3" isBusy={change.isBusy}>
            Allow
          </Button>
        </form>
      )}
      {may('admin') && (
        <RequestExample
          {...exampleOf(
            {
              method: 'POST',
              path: '/api/v1/redirect-urls',
              body: { url },
              call: `redirectUrls.create(${JSON.stringify({ url })})`,
            },
            environment,
          )}
        />
      )}
    </Section>
  );
}

function Delete({ organization }: { organization: Organization }) {
  const { api } = useSession();
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const remove = useAction(async () => {
    await api.organization.delete({ confirm: typed });
    location.assign('/app');
  });
  return (
    <Section title="Delete the organization">
      <p className="mt-0">
        Everything stops at once. For 30 days an operator can restore the organization; then all of its data is gone.
      </p>
      <Button look="danger" onClick={() => setOpen(true)}>
        Delete {organization.name}
      </Button>
      <Dialog title={`Delete ${organization.name}?`} isOpen={isOpen} onClose={() => setOpen(false)}>
        {remove.error !== undefined && <Problem error={remove.error} />}
        <TextField
          label={`Type ${organization.name} to confirm`}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
        <div className="flex justify-end gap-2">
          <Button onClick={() => setOpen(false)}>Cancel</Button>
          <Button
            look="danger"
            disabled={typed !== organization.name}
            isBusy={remove.isBusy}
            onClick={() => void remove.run()}
          >
            Delete the organization
          </Button>
        </div>
      </Dialog>
    </Section>
  );
}
