import { runIds, workflowIds } from '../../src/automation/core/ids.ts';
import type { ResourceId } from '../../src/platform/core/ids.ts';
import type { ErrorKind, Facts } from '../../src/platform/errors.ts';
import type { Variant } from '../../src/tenancy/caller.ts';
import { e1, e3 } from '../envelopes.ts';
import type { Dialect } from './dialect.ts';

/** Ids that dialect A writes as a UUID and dialect B with its prefix, by the names that facts give them. */
const idsInTwoForms: Record<string, ResourceId> = { workflowId: workflowIds, runId: runIds };
const namedIds = Object.entries(idsInTwoForms);

/** Whether a text is written as only dialect B writes an id. */
export const isIdOfB = (text: string): boolean => Object.values(idsInTwoForms).some((ids) => ids.matchesPrefix(text));

/** An id with its prefix, as a variant writes it. */
export function idFor(variant: Variant, id: string): string {
  const ids = variant === 'A' ? Object.values(idsInTwoForms).find((one) => one.matchesPrefix(id)) : undefined;
  return ids?.parse(id) ?? id;
}

/** Rewrites the ids among facts. A text that is not an id stays as the caller sent it. */
function mapIds(facts: Facts, write: (ids: ResourceId, uuid: string) => string): Facts {
  let changed = facts;
  for (const [name, ids] of namedIds) {
    const text = facts[name];
    const uuid = typeof text === 'string' ? ids.parse(text) : undefined;
    if (uuid !== undefined) changed = { ...changed, [name]: write(ids, uuid) };
  }
  return changed;
}

/** Codes of features that are published under the name of a kind, which has another status there. */
const sharedCodes: Readonly<Record<string, Record<Variant, string>>> = {
  booking_limit_reached: { A: 'rate_limit_exceeded', B: 'RATE_LIMITED' },
};

const variantA: Dialect = {
  variant: 'A',
  defaultLimit: 50,
  errorCode: ({ code }) => sharedCodes[code]?.A ?? code,
  facts: (facts) => mapIds(facts, (_, uuid) => uuid),
  envelope: () => e1,
};

/** Codes that dialect B does not merely write in upper case, by kind and by the codes of features. */
const codesOfKinds: Partial<Record<ErrorKind, string>> = {
  not_found: 'RESOURCE_NOT_FOUND',
  rate_limit_exceeded: 'RATE_LIMITED',
};
const codesOfFeatures: Readonly<Record<string, string>> = {
  workflow_inactive: 'workflow_disabled',
  integration_not_found: 'INTEGRATION_NOT_FOUND',
};

const inE3: readonly ErrorKind[] = ['unauthorized', 'forbidden', 'rate_limit_exceeded'];

const variantB: Dialect = {
  variant: 'B',
  defaultLimit: 20,
  errorCode: ({ kind, code, facts }) => {
    if (kind === 'unauthorized') return String(facts?.reason);
    return sharedCodes[code]?.B ?? codesOfFeatures[code] ?? codesOfKinds[kind] ?? code.toUpperCase();
  },
  facts: (facts) => mapIds(facts, (ids, uuid) => ids.format(uuid)),
  envelope: ({ kind }) => (inE3.includes(kind) ? e3 : e1),
};

export const variants: Record<Variant, Dialect> = { A: variantA, B: variantB };
