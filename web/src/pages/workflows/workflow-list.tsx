import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { exampleOf } from '../../api/example.ts';
import { ActionForm } from '../../components/action-form.tsx';
import { Button } from '../../components/button.tsx';
import { RequestExample } from '../../components/code.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField, TextArea, TextField } from '../../components/field.tsx';
import { useFilters } from '../../components/filters.ts';
import { Empty, Loading, Page } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { Status } from '../../components/status.tsx';
import { Pager, Table } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

const limit = 50;

/** All workflows, with the way to make a new one. */
export default function WorkflowList() {
  const { api, key, may } = useSession();
  const { filters, offset, set, setOffset } = useFilters(['active']);
  const active = filters.active ? { active: filters.active === 'true' ? ('true' as const) : ('false' as const) } : {};
  const workflows = useQuery({
    queryKey: key('workflows', filters, offset),
    queryFn: ({ signal }) => api.workflows.list({ ...active, limit, offset }, { signal }).page(),
    placeholderData: keepPreviousData,
  });
  return (
    <Page title="Workflows" actions={may('member') && <NewWorkflow />}>
      <div className="mb-4 max-w-60">
        <SelectField
          label="State"
          isLabelHidden
          value={filters.active ?? ''}
          onChange={({ target }) => set({ active: target.value || undefined })}
          options={[
            { value: '', label: 'Active and inactive' },
            { value: 'true', label: 'Active' },
            { value: 'false', label: 'Inactive' },
          ]}
        />
      </div>
      {workflows.error && <Problem error={workflows.error} retry={() => void workflows.refetch()} />}
      {workflows.isPending && <Loading what="workflows" />}
      {workflows.data?.total === 0 && (
        <Empty title="No workflows yet">
          Create one, or <Link to={'/templates' as '/workflows'}>begin with a template</Link>.
        </Empty>
      )}
      {workflows.data && workflows.data.total > 0 && (
        <>
          <Table
            label="Workflows"
            rows={workflows.data.items}
            keyOf={({ id }) => id}
            columns={[
              {
                title: 'Name',
                cell: ({ id, name, description }) => (
                  <>
                    <Link to="/workflows/$workflowId" params={{ workflowId: id }} className="font-medium">
                      {name}
                    </Link>
                    {description && <span className="block text-xs text-muted">{description}</span>}
                  </>
                ),
              },
              { title: 'State', cell: ({ isActive }) => <Status value={isActive ? 'active' : 'inactive'} /> },
              { title: 'Runs', isNumber: true, cell: ({ totalRuns }) => totalRuns.toLocaleString() },
              { title: 'Changed', isWideOnly: true, cell: ({ updatedAt }) => <Time at={updatedAt} isRelative /> },
            ]}
          />
          <Pager page={workflows.data} limit={limit} offset={offset} onOffset={setOffset} />
        </>
      )}
    </Page>
  );
}

const firstSteps = [{ id: 'answer', type: 'prompt' as const, prompt: '{{input}}' }];

function NewWorkflow() {
  const { api, environment } = useSession();
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const body = { name: name || 'My workflow', ...(description && { description }), steps: firstSteps };
  const create = useAction(async () => {
    const { id } = await api.workflows.create({ ...body, name });
    await navigate({ to: '/workflows/$workflowId', params: { workflowId: id } });
  });
  return (
    <>
      <Button look="primary" onClick={() => setOpen(true)}>
        New workflow
      </Button>
      <Dialog title="New workflow" isOpen={isOpen} onClose={() => setOpen(false)}>
        <ActionForm action={create}>
          <TextField
            label="Name"
            required
            maxLength={100}
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
          <TextArea
            label="Description (optional)"
            maxLength={500}
            value={description}
            onChange={({ target }) => setDescription(target.value)}
          />
          <div className="flex justify-end gap-2">
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button look="primary" type="submit" isBusy={create.isBusy}>
              Create
            </Button>
          </div>
          <RequestExample
            {...exampleOf(
              {
                method: 'POST',
                path: '/api/v1/workflows',
                body,
                call: `workflows.create(${JSON.stringify(body)})`,
              },
              environment,
            )}
          />
        </ActionForm>
      </Dialog>
    </>
  );
}
