import type { z } from 'zod';
import type { OAuthProvider } from '../../connections/index.ts';
import type { SettingsOf } from '../../platform/env.ts';
import type { IntegrationFailure } from '../calls/failures.ts';
import type { Account, ProviderAnswer, ProviderCall } from '../calls/provider-call.ts';
import type { Inbound, Notice } from './inbound.ts';

/** Which of the actions that wait for a worker goes first. */
export type ActionPriority = 'low' | 'normal' | 'high';

export type Category = 'communication' | 'crm' | 'social';

/** Something that an integration does for a caller. */
export interface Action<Payload extends z.ZodType = z.ZodType, Answer extends z.ZodType = z.ZodType> {
  summary: string;
  payload: Payload;
  answer: Answer;
  /** For the documentation. Both fit their schemas. */
  example: { payload: unknown; answer: unknown };
  /** Whether it changes something at the provider: then it is not sent again after a lost answer. */
  writes: boolean;
  /** Seconds until it is to be done; 0 for now. Undefined where it is always done now. */
  delay?(payload: z.output<Payload>): number;
  /** Undefined where it is always `normal`. */
  priority?(payload: z.output<Payload>): ActionPriority;
  /**
   * Does it, once: at most one request that changes something.
   * @throws IntegrationFailure, AuthExpired
   */
  perform(payload: z.output<Payload>, call: ProviderCall): Promise<z.input<Answer>>;
  /** The answer of the sandbox. Ids derive from `seed`, the SHA-256 of the request in hexadecimal. */
  sandbox(payload: z.output<Payload>, seed: string): z.input<Answer>;
}

/** Binds the types of an action's members to its schemas. */
export const defineAction = <Payload extends z.ZodType, Answer extends z.ZodType>(
  action: Action<Payload, Answer>,
): Action => action as unknown as Action;

/** Something that happens at a provider and is delivered to webhooks as `<integration>.<trigger>`. */
export interface Trigger {
  summary: string;
  /** The schema of `data`. */
  data: z.ZodObject;
  example: unknown;
}

/** Access that is granted on a page of the provider's which knows no OAuth: see Unipile. */
export interface HostedConsent {
  /** @param callbackUrl ours, with the state in its query @returns where to send the owner of the account */
  begin(request: { state: string; callbackUrl: string; call: Pick<ProviderCall, 'request'> }): Promise<string>;
  /** Whether an answer says that the owner of the account refused. */
  isDenied(query: URLSearchParams): boolean;
  /** The account that an answer brings, if the provider confirms that it belongs to this state. */
  finish(answer: { state: string; query: URLSearchParams; call: Pick<ProviderCall, 'request'> }): Promise<Account>;
  /** Ends our access to an account. */
  forget(of: { accountId: string; call: Pick<ProviderCall, 'request'> }): Promise<void>;
}

/** The client that an installation is registered as. */
export interface IntegrationClient {
  /** With the default scopes. */
  consent: { kind: 'oauth'; provider: OAuthProvider } | { kind: 'hosted'; hosted: HostedConsent; apiKey: string };
  /** Without a slash at its end. @param details of the account; empty while it is being connected */
  baseUrl(details: Readonly<Record<string, string>>): string;
  /** The headers that authenticate a request. @param token the account's access token, or the client's API key */
  authorization(token: string): Record<string, string>;
  /**
   * The secret with which the provider signs its requests; undefined if it is not configured, or differs by account.
   */
  inboundSecret?: string | undefined;
}

/** Events that must be polled or subscribed. */
export interface Poll {
  everySeconds: number;
  /**
   * @param cursor what the call before gave; null at first, which then finds nothing and gives where to begin
   * @returns at most a few hundred events, the oldest first; `more` when there are others at once
   */
  poll(
    cursor: string | null,
    call: ProviderCall,
  ): Promise<{ events: { trigger: string; key: string; data: unknown }[]; cursor: string; more: boolean }>;
}

/** An event that is known, and whose data are fetched. */
type FetchedNotice = Required<Pick<Notice, 'key' | 'trigger' | 'reference'>>;

export interface MissedPage {
  /** Events as `Inbound.notices` has them, of those with a `reference`: the same keys. At most 1,000. */
  events: FetchedNotice[];
  /** The place after this page: of the next page, or of a list of what happens later. At most 20,000 characters. */
  cursor: string;
  /** Whether the list has another page. */
  more: boolean;
}

/** Lists of events that may not have been pushed. */
export interface MissedEvents {
  /** The place where a list of what happened after a time begins. */
  begin(since: Date): string;
  /**
   * Requests a page of the events of a resource. A cursor that the provider does not know any more leads to the
   * beginning of its list.
   */
  read(resource: string, cursor: string, call: ProviderCall): Promise<MissedPage>;
}

/** What an account has that is subscribed to one by one. */
export interface PushResources {
  /** At most 500. */
  resources: string[];
  /** The account has more, which are not subscribed to: what the outcome of a run reports. */
  exceeded?: IntegrationFailure;
}

/** Events that are pushed only while a subscription at the provider is renewed. */
export interface PushSubscription {
  /** How long before its end it is renewed, and how long one lasts. */
  lastsSeconds: number;
  /** See `create`. Undefined where the account is subscribed to as a whole. */
  resources?(call: ProviderCall): Promise<PushResources>;
  /** @param address `resource` is one of `resources`; the first one where it is left out */
  create(
    address: { url: string; lifecycleUrl: string; clientState: string; endsAt: Date; resource?: string },
    call: ProviderCall,
  ): Promise<{ id: string; endsAt: Date }>;
  /** @throws IntegrationFailure with providerCode `gone` for one that does not exist any more */
  renew(id: string, endsAt: Date, call: ProviderCall): Promise<{ endsAt: Date }>;
  /** Undefined if the provider cannot return events that it did not push. */
  missed?: MissedEvents;
  /** Removing a subscription that no longer exists is not a failure. */
  remove(id: string, call: ProviderCall): Promise<void>;
}

/** A third-party tool, declared in one file. `Shape`: the environment variables it reads. */
export interface Integration<Shape extends z.ZodRawShape = z.ZodRawShape> {
  /** `slack` */
  id: string;
  name: string;
  description: string;
  category: Category;
  settings: Shape;
  /** Undefined where the environment does not have the client's credentials. */
  client(env: SettingsOf<Shape>): IntegrationClient | undefined;
  /** All scopes that a caller can request, the default ones, and those that every connection needs. */
  scopes: { all: readonly string[]; default: readonly string[]; required?: readonly string[] };
  /**
   * The account to which tokens give access.
   * @param answer of the token endpoint
   */
  accountOf(answer: Readonly<Record<string, unknown>>, call: Omit<ProviderCall, 'account'>): Promise<Account>;
  /** Whose the connection is, found out with one request. */
  test(call: ProviderCall): Promise<{ workspace: string; user: string }>;
  /** What an answer means that is no success; undefined for a success. An access token that is refused is 401 here too. */
  failureOf(answer: ProviderAnswer): IntegrationFailure | undefined;
  actions: Readonly<Record<string, Action>>;
  triggers: Readonly<Record<string, Trigger>>;
  /** Undefined where the provider sends nothing. */
  inbound?: Inbound;
  poll?: Poll;
  push?: PushSubscription;
}

/** Binds the types of an integration's members to its variables. */
export const defineIntegration = <Shape extends z.ZodRawShape>(integration: Integration<Shape>): Integration =>
  integration as unknown as Integration;
