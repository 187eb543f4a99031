import type { Variant } from '../../src/tenancy/caller.ts';
import type { ApiContext } from '../context.ts';
import type { AutomationDialect } from './automation/dialect.ts';
import { variantA } from './automation/variant-a.ts';
import { variantB } from './automation/variant-b.ts';

export const automationDialects: Record<Variant, AutomationDialect> = { A: variantA, B: variantB };

/** How workflows and runs are written in the dialect of this request. */
export const automationDialect = (c: ApiContext): AutomationDialect => automationDialects[c.get('dialect').variant];

/** The dialect that the fields of an execute body belong to; undefined when they fit both. */
export function variantOfExecution(body: unknown): Variant | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  if ('inputs' in body) return 'B';
  return 'input' in body || 'variables' in body ? 'A' : undefined;
}
