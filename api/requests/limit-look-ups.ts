import type { Services } from '../../src/services.ts';
import type { LimitLookUp } from '../../src/tenancy/failed-authentications.ts';
import type { ApiContext } from '../context.ts';
import { limitedRange } from './client-address.ts';

/** The look-ups of a request's credentials: those of an address with too many failed ones wait for each other. */
export const limitLookUps =
  (c: ApiContext, { failedAuthentications }: Pick<Services, 'failedAuthentications'>): LimitLookUp =>
  (find) =>
    failedAuthentications.lookUp(limitedRange(c.get('clientAddress')()), find);
