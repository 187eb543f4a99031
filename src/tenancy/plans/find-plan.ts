import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { PlanName } from '../core/plans.ts';

const find = statement({
  name: 'organization.plan',
  row: { plan: typed<PlanName>('text') },
  text: 'select plan from organization where id = :organizationId and :environment is not null',
});

/** The plan of a tenant that exists, where no key has brought it along. */
export const findPlan = async (scope: Scope): Promise<PlanName> => (await scope.one(find))!.plan;
