import type { CreatedJob } from '../jobs/index.ts';
import { claimedKey, type IdempotencyClaim } from '../platform/database/idempotency.ts';
import type { Scope } from '../platform/database/scope.ts';
import { statement } from '../platform/database/sql.ts';
import { AppError, invalid } from '../platform/errors.ts';
import { isAnsweredInstantly, readSandboxWords } from '../providers/core/sandbox-words.ts';
import type { ProviderRegistry } from '../providers/index.ts';
import { enforceStorageLimit } from '../storage/index.ts';
import type { TemporalClient } from '../temporal/client.ts';
import { queues } from '../temporal/contracts/queues.ts';
import type { PlanName } from '../tenancy/core/plans.ts';
import { keyOfActor } from '../tenancy/index.ts';
import type { ToolServerName } from '../tools/core/server-ids.ts';
import { chatProvider } from './ask-open-message.ts';
import { messagePrice } from './core/prices.ts';
import { callDirectly, type DirectCallServices } from './direct-calls.ts';
import type { MessageKind } from './entities.ts';
import { notConfigured } from './errors.ts';
import { messageJob } from './job.ts';
import {
  type Message,
  type MessageAbout,
  type MessageRequest,
  type StoredRequest,
  sealedMessage,
} from './sealed-message.ts';

export interface CreateServices extends DirectCallServices {
  providers: Pick<ProviderRegistry, 'chatModel' | 'isChatModel' | 'mayBeInstant'>;
  temporal: Pick<TemporalClient, 'startsEagerly'>;
}

interface NewMessage {
  /** A new id, chosen by the caller so that a reader can follow the message before it is created. */
  id: string;
  kind: MessageKind;
  /** The plan of the caller's organization. */
  plan: PlanName;
  /** As the caller named it. */
  model: string;
  request: MessageRequest;
  /** Whether the caller receives the text while it is written. */
  streams: boolean;
  idempotency?: IdempotencyClaim | undefined;
  /** Notification channel of the process that waits for the reply. */
  waiter: string;
  /** For readers that have its id. Absent: there are none. */
  about?: MessageAbout | undefined;
}

const insertMessage = statement({
  name: 'message.insert',
  parameters: {
    id: 'uuid',
    kind: 'text',
    model: 'text',
    hasTools: 'boolean',
    request: 'text',
    correlationId: 'text',
    leaseMs: 'float8?',
    about: 'text?',
    keyId: 'uuid?',
  },
  row: { id: 'uuid' },
  text: `insert into conversation_message (id, organization_id, environment, kind, status, model, has_tools, request, correlation_id,
                                  asked_until, about, key_id, created_at)
   values (:id, :organizationId, :environment, :kind, 'processing', :model, :hasTools, :request, :correlationId,
           atelier_now() + make_interval(secs => :leaseMs / 1000), :about, :keyId, atelier_now())
   returning id`,
});

/** @throws AppError validation_error; provider_not_configured with the published sentence */
async function check(
  { providers, tools }: CreateServices,
  scope: Scope,
  { kind, model, request }: NewMessage,
): Promise<ToolServerName[]> {
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
  const asked = messages.findLast((said): said is Message => said.role === 'user');
  return isAnsweredInstantly(readSandboxWords(asked?.content ?? '', model));
}

/**
 * Whether this process calls the model of a message while its workflow is started: if the model takes time, and this process
 * also does the work of such workflows. Only the workflow calls tools.
 */
const mayCallDirectly = (
  { providers, temporal }: CreateServices,
  { tenant }: Scope,
  { servers }: MessageRequest,
): boolean =>
  servers.length === 0 && !providers.mayBeInstant(tenant.environment) && temporal.startsEagerly(queues.generation);

/**
 * Creates a message, and reserves its credits. This process calls the model, where it may.
 * @throws AppError validation_error, provider_not_configured, insufficient_credits, idempotency_key_reused,
 *   rate_limit_exceeded; forbidden where it can be read again and the storage of the plan is full; SealError
 */
export async function createMessage(services: CreateServices, scope: Scope, message: NewMessage): Promise<CreatedJob> {
  const { id, kind, model, idempotency, waiter, streams, plan } = message;
  const earlier = await messageJob.findEarlier(scope, idempotency);
  if (earlier) return earlier;

  const servers = await check(services, scope, message);
  const request = { ...message.request, servers };
  const hasTools = servers.length > 0;
  const stored: StoredRequest = { ...request, ...(idempotency && { claim: claimedKey(idempotency) }) };
  const columns = sealedMessage(services.sealer, scope);
  const sealed = columns.seal(id, 'request', stored);
  const about = message.about ? columns.seal(id, 'about', message.about) : null;
  let leave = mayCallDirectly(services, scope, request) ? services.directCalls.enter(scope.tenant) : undefined;
  const leaseMs = leave ? services.directCalls.policy.leaseMs : null;
  try {
    const created = await messageJob.create(scope, {
      id,
      idempotency,
      insert: async (tx) => {
        // Messages that can be read again count as storage.
        if (about !== null) await enforceStorageLimit(tx);
        return tx.one(insertMessage, {
          id,
          kind,
          model,
          hasTools,
          request: sealed,
          correlationId: scope.correlationId,
          leaseMs,
          about,
          keyId: keyOfActor(scope.actor),
        });
      },
      credits: {
        operation: kind,
        amount: messagePrice(hasTools),
        deadlineMs: services.messagePolicy.deadlineMs,
      },
      plan,
      hint: { waiter, streams, isInstant: isInstant(services, scope, model, request) },
    });
    if (!created.replayed && leave) {
      const begun = { id, kind, model, hasTools, request: stored };
      const open = { ...begun, tools: undefined, streamedText: '', ageMs: 0, askedForMs: null };
      callDirectly(services, scope, { open, waiter, streams }, leave);
      leave = undefined;
    }
    return created;
  } finally {
    leave?.();
  }
}
