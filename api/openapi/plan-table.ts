import type { PlanLimit } from '../../src/tenancy/core/plan-limits.ts';
import { planNames } from '../../src/tenancy/core/plans.ts';

const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;

const positionOf = ({ declaration: { position = Number.MAX_SAFE_INTEGER } }: PlanLimit) => position;

/** The limits of every plan as a Markdown table, for the reference and the guide to limits. */
export const planTable = (limits: readonly PlanLimit[]): string =>
  [
    line(['limit', ...planNames]),
    line(['---', ...planNames.map(() => '---:')]),
    ...limits
      .toSorted((one, other) => positionOf(one) - positionOf(other))
      .flatMap((limit) => {
        const { label, unit = 1 } = limit.declaration;
        if (label === undefined) return [];
        return line([label, ...planNames.map((name) => (limit.of(name) / unit).toLocaleString('en-US'))]);
      }),
  ].join('\n');
