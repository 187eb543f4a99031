import type { Scope } from '../../platform/database/scope.ts';
import type { ProviderCall } from '../calls/provider-call.ts';
import type { Connected } from '../connections/find-connection.ts';
import type { Integration } from '../definition/integration.ts';
import type { ClientStates } from '../inbound/client-states.ts';
import type { Integrations } from '../integrations.ts';

export interface FollowServices {
  integrations: Integrations;
  clientStates: ClientStates;
  /** Without a slash at its end. */
  publicUrl: string;
}

/** A connection whose events are polled or pushed. `use` makes requests to its provider. */
export interface Followed {
  scope: Scope;
  integration: Integration;
  connected: Connected;
  /** Whether a webhook subscribes to one of its events, even if it is turned off. */
  isSubscribed: boolean;
  use<T>(work: (call: ProviderCall) => Promise<T>): Promise<T>;
}
