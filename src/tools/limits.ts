/** Limits on one organization's tools. Tests use shorter times. */
export interface ToolLimits {
  /** Time limit of one call, from when it holds the lock of its server. */
  callMs: number;
  /** How long a call waits for that lock: a tenant's calls to one server run one after the other. */
  lockWaitMs: number;
  /** Time limit for connecting and listing tools. */
  listMs: number;
  /** After which a connection that is not used is closed, and its process ended. */
  idleMs: number;
  /** How long the list of a remote server's tools is cached. */
  listedMs: number;
  /** Memory for these lists: those of one organization, and all of a process. A list of 64 large tools takes some 20 MiB. */
  listedBytes: { perOrganization: number; perProcess: number };
  /** Connections of one organization in a process of the product: to processes of its machine, and to other machines. */
  perOrganization: { local: number; remote: number };
  /** Maximum over all organizations. */
  perProcess: { local: number; remote: number };
}

export const toolLimits: ToolLimits = {
  callMs: 30_000,
  lockWaitMs: 30_000,
  listMs: 20_000,
  idleMs: 60_000,
  listedMs: 300_000,
  listedBytes: { perOrganization: 24 * 1024 * 1024, perProcess: 96 * 1024 * 1024 },
  perOrganization: { local: 3, remote: 12 },
  perProcess: { local: 12, remote: 200 },
};

/** Maximum length of JSON that a model writes as arguments of one call. */
export const maxArgumentsLength = 256 * 1024;
/** Maximum length of JSON in one message of a server. */
export const maxMessageLength = 4 * 1024 * 1024;
/** Objects, lists and members of one message. The protocol's client copies each message several times. */
export const maxMessageStructures = 20_000;
/** Messages of a server during one call that are not its answer. */
export const maxNotifications = 1_000;
/** Requests of a remote server during one call, and answers to them that it has not taken. One a second is common. */
export const maxServerRequests = 30;
/** Tools that a model is offered at once. */
export const maxTools = 64;
/** Maximum length of a tool's description. */
export const maxDescriptionLength = 1_024;
/** Maximum length of one tool's input schema as JSON. A tool with a larger one is not offered. */
export const maxSchemaLength = 16 * 1024;
