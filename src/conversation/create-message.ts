import { reserveCredits } from '../credits/index.ts';
import { AppError, concurrencyLimitReached, invalid } from '../platform/errors.ts';
import { findClaim, type IdempotencyClaim } from '../platform/idempotency.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { readSandboxWords } from '../providers/core/sandbox-words.ts';
import type { ProviderRegistry } from '../providers/index.ts';
import type { TemporalClient } from '../temporal/client.ts';
import type { MessagePolicy } from '../temporal/contracts/conversation.ts';
import { queues } from '../temporal/contracts/queues.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { fairnessOf } from '../tenancy/index.ts';
import type { ToolServerId } from '../tools/core/server-ids.ts';
import { conversationLimits } from './core/limits.ts';
import { messagePrice } from './core/prices.ts';
import { messageStates } from './core/status.ts';
import { callDirectly, type DirectCallServices } from './direct-calls.ts';
import { creditKey } from './end-message.ts';
import type { MessageKind } from './entities.ts';
import { notConfigured } from './errors.ts';
import { failPoint } from './fail-points.ts';
import { startReplyWorkflow } from './message-workflows.ts';
import { chatProvider } from './question.ts';
import { type MessageRequest, type StoredRequest, sealedMessage } from './sealed-message.ts';

export interface MessageWork {
  temporal: TemporalClient;
  messagePolicy: MessagePolicy;
}

export interface CreateServices extends DirectCallServices {
  providers: Pick<ProviderRegistry, 'chatModel' | 'isChatModel' | 'mayBeInstant'>;
  temporal: Pick<TemporalClient, 'startsEagerly'>;
}

export interface NewMessage {
  /** A new id, chosen by the caller so that a reader can follow the turn before it is created. */
  id: string;
  kind: MessageKind;
  /** Of the caller's organization. */
  plan: PlanName;
  /** As the caller named it. */
  model: string;
  request: MessageRequest;
  /** Whether the caller receives the text while it is written. */
  streams: boolean;
  idempotency?: IdempotencyClaim | undefined;
  /** Notification channel of the process that waits for the reply. */
  waiter: string;
}

/** What the start right after the commit needs to know. */
interface StartHint {
  waiter: string;
  streams: boolean;
  isInstant: boolean;
}

/** Reserved credits are kept for an hour longer, so that no work is done on credits that were given back. */
const keptLongerMs = 3_600_000;

const insertMessage = statement<{ id: string }>(
  'turn.insert',
  `insert into conversation_message (id, organization_id, environment, kind, status, model, has_tools, request, correlation_id,
                                  asked_until, created_at)
   values ($3::uuid, $1::uuid, $2::text, $4::text, 'processing', $5::text, $6::boolean, $7::text, $8::text,
           clock_timestamp() + make_interval(secs => $9::float8 / 1000), clock_timestamp())
   returning id`,
);

const countOpen = statement<{ open: number }>(
  'turn.count_open',
  `select count(*)::int as open from (
     select from conversation_message
      where organization_id = $1 and environment = $2 and status in (${messageStates.sql('processing')}) limit $3) as counted`,
);

/**
 * Each message under way occupies a worker, even if its caller has disconnected. To be called when the tenant's
 * credits are locked, so that two transactions do not count at the same time.
 * @throws AppError rate_limit_exceeded
 */
async function enforceConcurrencyLimit(tx: Scope, plan: PlanName): Promise<void> {
  const limit = conversationLimits.openMessages.of(plan);
  const { open } = (await tx.one(countOpen, limit + 1))!;
  if (open > limit) throw concurrencyLimitReached(limit, conversationLimits.openMessages.window);
}

/** @throws AppError validation_error; provider_not_configured with the published sentence */
async function check(
  { providers, tools }: CreateServices,
  scope: Scope,
  { kind, model, request }: NewMessage,
): Promise<ToolServerId[]> {
  if (!providers.isChatModel(model)) throw invalid([{ path: 'model', message: 'There is no model of this name.' }]);
  const servers = await tools.check(scope, request.servers);
  try {
    providers.chatModel(scope.tenant.environment, chatProvider, model);
  } catch (error) {
    const isMissing = error instanceof AppError && error.kind === 'provider_not_configured';
    throw isMissing ? notConfigured(kind, error.facts) : error;
  }
  return servers;
}

/** Whether the model answers without taking time: then no activity of its own is needed. */
function isInstant({ providers }: CreateServices, scope: Scope, model: string, { messages, servers }: MessageRequest) {
  if (servers.length > 0 || !providers.mayBeInstant(scope.tenant.environment)) return false;
  const { slowSeconds, overloaded, namesModel } = readSandboxWords(messages.at(-1)?.content ?? '', model);
  return slowSeconds === 0 && !overloaded && !namesModel;
}

/**
 * Whether this process calls the model of a turn while its workflow is started: if the model takes time, and this process also
 * does the work of such workflows. Only the workflow calls tools.
 */
const mayCallDirectly = (
  { providers, temporal }: CreateServices,
  { tenant }: Scope,
  { servers }: MessageRequest,
): boolean =>
  servers.length === 0 && !providers.mayBeInstant(tenant.environment) && temporal.startsEagerly(queues.generation);

/**
 * Creates a turn: its row, its reserved credits, the claim of its Idempotency-Key and the outbox entry that starts its
 * workflow commit together.
 * @throws AppError validation_error, provider_not_configured, insufficient_credits, idempotency_key_reused,
 *   rate_limit_exceeded; SealError
 */
export async function createMessage(
  services: CreateServices,
  scope: Scope,
  turn: NewMessage,
): Promise<{ turnId: string /** An earlier request with the same Idempotency-Key made it. */; replayed: boolean }> {
  const { id, kind, model, idempotency: claim, waiter, streams } = turn;
  const earlier = claim && (await findClaim(scope, claim));
  if (earlier) return { turnId: earlier.resourceId, replayed: true };

  const servers = await check(services, scope, turn);
  const request = { ...turn.request, servers };
  const hasTools = servers.length > 0;
  const stored: StoredRequest = {
    ...request,
    ...(claim && { claim: { method: claim.method, path: claim.path, key: claim.key } }),
  };
  const sealed = sealedMessage(services.sealer, scope).seal(id, 'request', stored);
  let leave = mayCallDirectly(services, scope, request) ? services.directCalls.enter(scope.tenant) : undefined;
  const leaseMs = leave ? services.directCalls.policy.leaseMs : null;
  const create = () =>
    scope.transaction(
      async (tx) => {
        // The row before the credits: their account is locked until the commit.
        await tx.one(insertMessage, id, kind, model, hasTools, sealed, scope.correlationId, leaseMs);
        await reserveCredits(tx, {
          key: creditKey(id),
          operation: kind,
          amount: messagePrice(hasTools),
          expiresInMs: services.messagePolicy.deadlineMs + keptLongerMs,
        });
        await enforceConcurrencyLimit(tx, turn.plan);
        const hint: StartHint = { waiter, streams, isInstant: isInstant(services, scope, model, request) };
        await tx.enqueue('turn.start', id, hint);
        return { id };
      },
      { claim, outcome: { id } },
    );
  try {
    const { outcome, replayed } = await create();
    if (!replayed) failPoint('turn.committed');
    if (!replayed && leave) {
      const open = {
        id,
        kind,
        model,
        hasTools,
        request: stored,
        tools: undefined,
        told: '',
        ageMs: 0,
        askedForMs: null,
      };
      callDirectly(services, scope, { open, waiter, streams }, leave);
      leave = undefined;
    }
    return { turnId: outcome.id, replayed };
  } finally {
    leave?.();
  }
}

// Also of one that failed before its workflow began: the workflow fails too, so that operators find it.
const findPending = statement<{ plan: PlanName }>(
  'turn.pending_start',
  `select o.plan from conversation_message t join organization o on o.id = t.organization_id
    where t.organization_id = $1 and t.environment = $2 and t.id = $3
      and t.status in (${messageStates.sql('processing', 'failed')})`,
);

/** Starts the workflow of a turn, unless it is over. @param hint given right after the commit */
export async function startPendingMessage(
  { temporal, messagePolicy: policy }: MessageWork,
  scope: Scope,
  turnId: string,
  hint?: StartHint,
): Promise<void> {
  const pending = await scope.one(findPending, turnId);
  if (!pending) return;
  const { tenant, correlationId } = scope;
  const { waiter = null, streams = false, isInstant = false } = hint ?? {};
  const args = { ...tenant, correlationId, turnId, waiter, streams, isInstant, policy };
  await startReplyWorkflow(temporal, args, fairnessOf(tenant, pending.plan));
  failPoint('turn.started');
}
