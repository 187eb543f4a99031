import { createHash, randomBytes } from 'node:crypto';
import { clock } from '../../platform/clock.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { newId } from '../../platform/ids.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
import { sealedColumns } from '../../platform/security/sealed-columns.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { planRefusal } from '../../tenancy/index.ts';
import { publishEvent } from '../../webhooks/index.ts';
import { approvalRequested } from '../core/approvals.ts';
import { readDuration } from '../core/duration.ts';
import { automationLimits } from '../core/limits.ts';
import { type ApprovalStep, defaultApprovalActions, defaultApprovalTimeout } from '../core/step-types.ts';
import { renderTemplate, templateNames, type Warning } from '../core/template.ts';
import type { StepContext, StepFault } from '../steps/step-context.ts';
import { getApproval } from './approvals.ts';
import { factsOf } from './views.ts';

export const linkColumns = sealedColumns<{ sealed_token: string }>('approval_link');

export const hashOfToken = (token: string): Buffer => createHash('sha256').update(token).digest();

const countOpen = statement({
  name: 'approval.count_open',
  row: { plan: typed<PlanName>('text'), count: 'int' },
  text: `
    select o.plan, (select count(*)::int from approval a
                     where a.organization_id = :organizationId and a.environment = :environment
                       and a.status = 'pending') as count
      from organization o where o.id = :organizationId`,
});

const insertApproval = statement({
  name: 'approval.insert',
  parameters: {
    id: 'uuid',
    runId: 'uuid',
    path: 'text',
    stepId: 'text',
    message: 'text',
    actions: 'text',
    form: 'text?',
    approvers: 'text',
    expiresAt: 'timestamptz',
    remindAt: 'timestamptz?',
    correlationId: 'text',
  },
  row: { id: 'uuid' },
  text: `
    insert into approval (id, organization_id, environment, run_id, path, step_id, automation_id, message, actions, form,
                          approvers, status, expires_at, remind_at, correlation_id, created_at)
    select :id, :organizationId, :environment, r.id, :path, :stepId, r.automation_id, :message, :actions::json,
           :form::json, :approvers::json, 'pending', :expiresAt, :remindAt, :correlationId, atelier_now()
      from run r where r.organization_id = :organizationId and r.environment = :environment and r.id = :runId
    on conflict (run_id, path) do nothing
    returning id`,
});

const insertLink = statement({
  name: 'approval_link.insert',
  parameters: { id: 'uuid', approvalId: 'uuid', address: 'text', tokenHash: 'bytea', sealedToken: 'text' },
  text: `
    insert into approval_link (id, approval_id, organization_id, environment, address, token_hash, sealed_token)
    values (:id, :approvalId, :organizationId, :environment, :address, :tokenHash, :sealedToken)`,
});

/** An address that a mail can be sent to. */
const address = /^[^\s@<>(),;:"[\]\\]{1,64}@[^\s@<>(),;:"[\]\\]{1,255}$/;
const maxApprovers = 20;
const maxMessageLength = 20_000;

type BegunApproval =
  | { fault: StepFault & { warnings: Warning[] } }
  | { approvalId: string; until: Date; open(tx: Transaction): Promise<void> };

/**
 * Prepares an approval: `open` writes it, in the transaction in which its step begins to wait.
 * @param place its dotted path, and how many approvals its run has begun and not written yet
 * @throws OutputsTooLarge; TemplateTooLong; StorageFailure
 */
export async function beginApproval(
  services: { sealer: Sealer },
  scope: Scope,
  step: ApprovalStep,
  { path, unwrittenApprovals }: { path: string; unwrittenApprovals: number },
  context: StepContext,
): Promise<BegunApproval> {
  const templates = [step.message, ...(step.approvers ?? [])];
  const values = await context.values(new Set(templates.flatMap(templateNames)));
  const rendered = templates.map((template) => renderTemplate(template, values));
  const warnings = rendered.flatMap((one) => one.warnings);
  const failed = (message: string, more: Partial<StepFault> = {}): BegunApproval => {
    return {
      fault: Object.assign({ status: 'failed' as const, code: 'invalid_payload' as const, message, warnings }, more),
    };
  };
  const [message, ...addresses] = rendered.map(({ text }) => text);
  const approvers = [...new Set(addresses.map((one) => one.trim()))];
  const wrong = approvers.findIndex((one) => !address.test(one));
  if (wrong >= 0) return failed(`The approver ${wrong + 1} is not an e-mail address.`);
  if (approvers.length > maxApprovers) return failed(`Expected at most ${maxApprovers} approvers.`);
  if (message!.length > maxMessageLength) return failed(`The message is longer than ${maxMessageLength} characters.`);

  const { plan, count } = (await scope.one(countOpen))!;
  if (count + unwrittenApprovals >= automationLimits.openApprovals.of(plan)) {
    const { message, details } = planRefusal(automationLimits.openApprovals, plan, 'open approvals');
    return failed(message, { code: 'too_many_waiting', details });
  }

  const timeoutMs = readDuration(step.timeout ?? defaultApprovalTimeout) ?? 0;
  const approvalId = newId();
  const until = new Date(clock.now() + timeoutMs);
  const row = {
    id: approvalId,
    runId: context.runId,
    path,
    stepId: step.id,
    message: message!,
    actions: JSON.stringify(step.actions ?? defaultApprovalActions),
    form: step.form ? JSON.stringify(step.form) : null,
    approvers: JSON.stringify(approvers),
    expiresAt: until,
    remindAt: approvers.length > 0 ? new Date(clock.now() + timeoutMs / 2) : null,
    correlationId: scope.correlationId,
  };
  const open = async (tx: Transaction) => {
    if (!(await tx.one(insertApproval, row))) return;
    for (const one of approvers) {
      const id = newId();
      const token = randomBytes(32).toString('base64url');
      const sealedToken = linkColumns(services.sealer, tx).seal(id, 'sealed_token', token);
      await tx.rows(insertLink, { id, approvalId, address: one, tokenHash: hashOfToken(token), sealedToken });
      await tx.enqueue('approval.mail', id);
    }
    await publishEvent(tx, approvalRequested, approvalId, factsOf(await getApproval(tx, approvalId)));
  };
  return { approvalId, until, open };
}
