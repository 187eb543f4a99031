import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { checkAuthentication } from './authentication.ts';
import { checkPathIds } from './path-ids.ts';
import { checkRoles } from './roles.ts';
import { checkRoutes } from './routes.ts';
import { checkScopes } from './scopes.ts';
import { SharedWalk } from './shared-walk.ts';
import { checkTenancy } from './tenancy.ts';

// Every operation, with every kind of key: far more than it takes alone, as others may use the machine too.
jest.setTimeout(240_000);

const walk = new SharedWalk();
beforeAll(() => walk.open());
afterAll(() => walk.close());

describe('every operation that needs a key', () => {
  test('is there to be walked', () => {
    expect(walk.ofKeys.length).toBeGreaterThanOrEqual(50);
    expect(walk.ofKeys.map(({ ownPath }) => ownPath).filter((path) => path.includes('{'))).toEqual([]);
  });

  checkAuthentication(walk);
  checkScopes(walk);
  checkTenancy(walk);
});

describe('every operation with an id in its path', () => checkPathIds(walk));

describe('every operation that a person may call', () => checkRoles(walk));

describe('routes', () => checkRoutes(walk));
