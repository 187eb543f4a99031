import type { ProviderRequest } from '../calls/provider-call.ts';

/** Spring '26. Salesforce keeps a version for years. */
export const dataPath = '/services/data/v66.0';

export const queryRequest = (soql: string): ProviderRequest => ({
  method: 'GET',
  path: `${dataPath}/query`,
  query: { q: soql },
});
