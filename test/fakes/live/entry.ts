import type { FailureKind } from '../../../src/integrations/calls/failures.ts';
import type { Account } from '../../../src/integrations/calls/provider-call.ts';
import type { Integration } from '../../../src/integrations/definition/integration.ts';
import type { FakeApp } from '../oauth/oauth-app.ts';
import type { WireAnswer } from '../wire-server.ts';

/** An action, and what the fake makes of it. */
export interface LiveAction {
  /** One that succeeds; a new one each time, for what can be done once. */
  payload(): unknown;
  /** What it answers, at least. */
  answer: object;
  /** How many requests are made before the one that matters. */
  before?: number;
  /** Payloads that are refused before anything is sent, and where. */
  invalid: [payload: unknown, path: string][];
  /** Payloads that the provider, or who knows the account, refuses. */
  refused: [payload: unknown, kind: FailureKind, path?: string][];
}

/** An integration and the fake that speaks its provider's wire format: what the conformance suite has to know. */
export interface LiveIntegration<Fake extends FakeApp = FakeApp> {
  integration: Integration;
  start(): Promise<Fake>;
  /** The environment. */
  variables(fake: Fake): Record<string, string>;
  /** One that the fake has. */
  account(fake: Fake): Account;
  /** What is accepted as a proof of access to it. */
  token(fake: Fake): string;
  /** What an answer of `test` is, at least. */
  identity: object;
  rateLimited(seconds: number): WireAnswer;
  /** Answers that mean that the token is refused. */
  expired: WireAnswer[];
  /** What further answers mean, and the code that is passed on. */
  meanings: [answer: WireAnswer, kind: FailureKind, code?: string][];
  actions: Record<string, LiveAction>;
}

/** Hides which fake it is from those who walk over all of them. */
export const live = <Fake extends FakeApp>(one: LiveIntegration<Fake>) => one as unknown as LiveIntegration;
