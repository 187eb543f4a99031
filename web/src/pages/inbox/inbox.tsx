import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Approval, ConflictError } from '../../../../sdk/typescript/src/index.ts';
import { exampleOf } from '../../api/example.ts';
import { Button } from '../../components/button.tsx';
import { Json, RequestExample } from '../../components/code.tsx';
import { TextArea } from '../../components/field.tsx';
import { useFilters } from '../../components/filters.ts';
import { Empty, Facts, Loading, Page, Section } from '../../components/page.tsx';
import { Problem } from '../../components/problem.tsx';
import { type FormSchema, SchemaForm } from '../../components/schema-form.tsx';
import { Status } from '../../components/status.tsx';
import { Pager } from '../../components/table.tsx';
import { Time } from '../../components/time.tsx';
import { notify } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useSession } from '../../session/context.tsx';

const limit = 20;
const statuses = ['pending', 'answered', 'expired', 'cancelled'] as const;

/** The questions of runs to people: open approvals, which can be answered here, and the earlier ones. */
export default function Inbox() {
  const { api, key } = useSession();
  const { filters, offset, set, setOffset } = useFilters(['status', 'workflowId']);
  const status = filters.status ?? 'pending';
  const approvals = useQuery({
    queryKey: key('approvals', filters, offset),
    queryFn: ({ signal }) =>
      api.approvals.list({ ...filters, status: status as Approval['status'], limit, offset }, { signal }).page(),
    refetchInterval: 5_000,
  });
  return (
    <Page title="Inbox">
      <div className="mb-4 flex flex-wrap gap-1">
        {statuses.map((name) => (
          <Button
            key={name}
            look={name === status ? 'primary' : 'secondary'}
            aria-pressed={name === status}
            onClick={() => set({ status: name === 'pending' ? undefined : name })}
          >
            {name}
          </Button>
        ))}
      </div>
      {approvals.error && <Problem error={approvals.error} retry={() => void approvals.refetch()} />}
      {approvals.isPending && <Loading what="approvals" />}
      {approvals.data?.total === 0 && (
        <Empty title={status === 'pending' ? 'Nothing waits for an answer' : `No ${status} approvals`}>
          A workflow asks people with a step of the type <code>approval</code>.{' '}
          <a href="/docs/guides/approvals">Read the guide</a>
        </Empty>
      )}
      {approvals.data?.items.map((approval) => (
        <ApprovalCard key={approval.id} approval={approval} />
      ))}
      {approvals.data && approvals.data.total > 0 && (
        <Pager page={approvals.data} limit={limit} offset={offset} onOffset={setOffset} />
      )}
    </Page>
  );
}

function ApprovalCard({ approval }: { approval: Approval }) {
  const { may } = useSession();
  return (
    <Section title={approval.workflowName}>
      <p className="mt-0 mb-3 whitespace-pre-wrap">{approval.message}</p>
      <Facts
        facts={[
          ['Status', <Status key="status" value={approval.status} />],
          [
            'Run',
            <Link key="run" to="/runs/$runId" params={{ runId: approval.runId }} className="font-mono text-xs">
              {approval.runId}
            </Link>,
          ],
          ['Step', approval.path?.join('.') ?? approval.stepId],
          ['Asked', <Time key="asked" at={approval.createdAt} isRelative />],
          ['Expires', <Time key="expires" at={approval.expiresAt} />],
          ...(approval.approvers.length > 0
            ? ([['Approvers', approval.approvers.join(', ')]] as [string, string][])
            : []),
        ]}
      />
      {approval.response && (
        <>
          <p className="mb-1">
            {approval.response.respondedBy ?? 'The timeout'} chose <strong>{approval.response.action}</strong>{' '}
            <Time at={approval.response.respondedAt} isRelative /> by {approval.response.channel}.
          </p>
          {approval.response.comment && <p className="whitespace-pre-wrap">{approval.response.comment}</p>}
          {Object.keys(approval.response.values).length > 0 && <Json label="Values" value={approval.response.values} />}
        </>
      )}
      {approval.status === 'pending' && may('member') && <Answer approval={approval} />}
    </Section>
  );
}

/** The form of an open approval, and a button for each of its actions. */
function Answer({ approval }: { approval: Approval }) {
  const { api, environment, key } = useSession();
  const queries = useQueryClient();
  const [values, setValues] = useState<Record<string, unknown>>({});
  const [comment, setComment] = useState('');
  const bodyOf = (action: Approval['actions'][number]) => ({
    action: action.id,
    ...(approval.form && !action.skipForm && { values }),
    ...(comment && { comment }),
  });
  const answer = useAction(async (action: Approval['actions'][number]) => {
    try {
      await api.approvals.respond(approval.id, bodyOf(action));
      notify('The answer has been recorded.');
    } catch (error) {
      // The form goes with an approval that is open no more, and its problem too.
      if (error instanceof ConflictError) notify(error.message);
      throw error;
    } finally {
      // Another person may have answered first.
      await queries.invalidateQueries({ queryKey: key('approvals') });
    }
  });
  const first = approval.actions[0]!;
  const body = bodyOf(first);
  return (
    <div className="mt-3 border-t border-line pt-3">
      {answer.error !== undefined && <Problem error={answer.error} />}
      {approval.form && <SchemaForm schema={approval.form as FormSchema} values={values} onChange={setValues} />}
      <TextArea
        label="Comment (optional)"
        rows={2}
        value={comment}
        onChange={({ target }) => setComment(target.value)}
      />
      <div className="flex flex-wrap gap-2">
        {approval.actions.map((action, index) => (
          <Button
            key={action.id}
            look={index === 0 ? 'primary' : 'secondary'}
            isBusy={answer.isBusy}
            onClick={() => void answer.run(action)}
          >
            {action.label}
          </Button>
        ))}
      </div>
      <RequestExample
        {...exampleOf(
          {
            method: 'POST',
            path: `/api/v1/approvals/${approval.id}/respond`,
            body,
            call: `approvals.respond('${approval.id}', ${JSON.stringify(body)})`,
          },
          environment,
        )}
      />
    </div>
  );
}
