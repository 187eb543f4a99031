import { withoutSlash } from '../../platform/core/base-url.ts';
import type { Database } from '../../platform/database/database.ts';
import { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { MailSettings } from '../../platform/env.ts';
import { type Mailer, MailFailure, openMailer } from '../../platform/mail.ts';
import type { Log } from '../../platform/observability/log.ts';
import { EntryDone, holdEntry } from '../../platform/outbox/hold-entry.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
import type { Environment } from '../../platform/tenant.ts';
import { countMail } from '../../tenancy/index.ts';
import { maxWarnings, type Warning } from '../core/template.ts';
import { failPoint } from '../fail-points.ts';
import { linkColumns } from './begin-approval.ts';

/** Sends the mails of approvals. */
export interface ApprovalMail {
  mailers: Record<Environment, Mailer>;
  /** The address of the page of a token. */
  pageOf(token: string): string;
  close(): void;
}

/** Mail of test keys never leaves the machine: it is written to a file, whatever the configuration. */
export function openApprovalMail(settings: MailSettings, publicUrl: string): ApprovalMail {
  const { smtpUrl: _, ...toFolder } = settings;
  const mailers = { live: openMailer(settings), test: openMailer(toFolder) };
  const base = `${withoutSlash(publicUrl)}/a`;
  return {
    mailers,
    pageOf: (token) => `${base}/${token}`,
    close() {
      mailers.live.close();
      mailers.test.close();
    },
  };
}

interface ApprovalMailServices {
  sealer: Sealer;
  log: Log;
  approvalMail: ApprovalMail;
}

const findMail = statement({
  name: 'approval_link.mail',
  parameters: { id: 'uuid' },
  row: {
    approvalId: 'uuid',
    address: 'text',
    sealedToken: 'text',
    isMailed: 'boolean',
    isReminded: 'boolean',
    message: 'text',
    workflowName: 'text',
    organization: 'text',
    expiresAt: 'timestamptz',
  },
  text: `
    select l.approval_id as "approvalId", l.address, l.sealed_token as "sealedToken", l.mailed_at is not null as "isMailed",
           l.reminded_at is not null as "isReminded", a.message, w.name as "workflowName", o.name as organization,
           a.expires_at as "expiresAt"
      from approval_link l
      join approval a on a.id = l.approval_id and a.status = 'pending'
      join automation w on w.id = a.automation_id and w.deleted_at is null
      join organization o on o.id = l.organization_id
     where l.organization_id = :organizationId and l.environment = :environment and l.id = :id
       and l.sealed_token is not null`,
});

const noteUnmailed = statement({
  name: 'approval_link.note_unmailed',
  parameters: { approvalId: 'uuid', warning: 'text', max: 'int' },
  text: `
    update run_step s
       set warnings = case when jsonb_array_length(s.warnings) < :max then s.warnings || :warning::jsonb else s.warnings end,
           warnings_total = coalesce(s.warnings_total, jsonb_array_length(s.warnings)) + 1
      from approval a
     where a.organization_id = :organizationId and a.environment = :environment and a.id = :approvalId
       and a.status = 'pending' and s.run_id = a.run_id and s.path = a.path`,
});

/** The organization has sent as many mails today as its plan includes. */
class MailLimitReached extends Error {}

const noteMail = statement({
  name: 'approval_link.note_mail',
  parameters: { id: 'uuid', isReminder: 'boolean' },
  text: `
    update approval_link
       set mailed_at = case when :isReminder then mailed_at else atelier_now() end,
           reminded_at = case when :isReminder then atelier_now() else reminded_at end
     where organization_id = :organizationId and environment = :environment and id = :id`,
});

const oneLine = (text: string) => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();

/**
 * Sends an approver the link, or reminds of it, once: a mail that may have been sent before has the same id. A mail above the
 * limit of the plan is not sent: the approval stays open, and its step has a warning.
 */
export async function sendApprovalMail(
  { sealer, log, approvalMail }: ApprovalMailServices,
  scope: Scope,
  linkId: string,
  isReminder: boolean,
): Promise<void> {
  const found = await scope.one(findMail, { id: linkId });
  if (!found || (isReminder ? found.isReminded : found.isMailed)) return;
  const token = linkColumns(sealer, scope).open(linkId, 'sealed_token', found.sealedToken);
  const name = oneLine(found.workflowName);
  const text = [
    isReminder ? 'This still waits for your answer:' : `The workflow "${name}" asks for your answer:`,
    found.message,
    `Answer here: ${approvalMail.pageOf(token)}`,
    `The link is for you alone, and works until ${found.expiresAt.toISOString()} or until the question is answered.`,
  ].join('\n\n');
  const mail = {
    to: found.address,
    subject: `${isReminder ? 'Reminder: ' : ''}Approval for ${name}`.slice(0, 200),
    text,
    onBehalfOf: oneLine(found.organization),
    about: `approval ${linkId} ${isReminder ? 'reminder' : 'request'}`,
  };
  const kind = isReminder ? 'approval.remind' : 'approval.mail';
  try {
    const begin = () => holdEntry(scope, { kind, subjectId: linkId });
    const count = async () => {
      if (!(await countMail(scope, { isRefusable: true }))) throw new MailLimitReached();
    };
    await approvalMail.mailers[scope.tenant.environment].send(mail, { begin, count });
  } catch (error) {
    if (error instanceof EntryDone) return;
    if (error instanceof MailLimitReached) {
      const { approvalId, address: name } = found;
      const warning: Warning = { code: 'mail_limit', name };
      await scope.rows(noteUnmailed, { approvalId, warning: JSON.stringify(warning), max: maxWarnings });
      return;
    }
    if (!(error instanceof MailFailure) || (!error.isUncertain && !error.isPermanent)) throw error;
    // It may have arrived, or never will: the approval can be answered otherwise.
    log.warn({ ...scope.tenant, approvalId: found.approvalId, reason: error.message }, 'a mail of an approval failed');
  }
  failPoint('approval.mailed');
  await scope.rows(noteMail, { id: linkId, isReminder });
}

const takeDue = systemStatement({
  name: 'approval.due_reminders',
  parameters: { max: 'int' },
  row: { id: 'uuid', organizationId: 'uuid', environment: typed<Environment>('text'), correlationId: 'text' },
  text: `
    select id, organization_id as "organizationId", environment, correlation_id as "correlationId" from approval
     where status = 'pending' and remind_at <= atelier_statement_now() order by remind_at limit :max`,
});

const noteReminder = statement({
  name: 'approval.note_reminder',
  parameters: { id: 'uuid' },
  row: { linkId: 'uuid' },
  text: `
    with due as (
      update approval set remind_at = null
       where organization_id = :organizationId and environment = :environment and id = :id and status = 'pending'
         and remind_at <= atelier_statement_now()
      returning id)
    select l.id as "linkId" from due join approval_link l on l.approval_id = due.id`,
});

/** Reminds the approvers of approvals whose time is half over. */
export async function remindApprovers(database: Database): Promise<number> {
  const due = await sqlOn(database.pool).rows(takeDue, { max: 500 });
  for (const { id, correlationId, ...tenant } of due) {
    const scope = new Scope(database, tenant, correlationId);
    await scope.transaction(async (tx) => {
      for (const { linkId } of await tx.rows(noteReminder, { id })) await tx.enqueue('approval.remind', linkId);
    });
  }
  return due.length;
}
