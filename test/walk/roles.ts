import { expect, test } from '@jest/globals';
import { type Person, personWith } from '../accounts/people.ts';
import { hasErrorMessage } from '../openapi/document.ts';
import { brokenBody, type SharedWalk } from './shared-walk.ts';
import type { WalkedOperation } from './walked-operations.ts';

const isPersonal = ({ path }: WalkedOperation) => /\/account(\/|$)/.test(path);
const ofAdmins = /^(?!GET).*\/v1\/(keys|members|invitations|organization|redirect-urls)(\/|$)/;

/** The role that a person is refused for lack of. A request that is not refused for the role is refused for its body. */
async function requiredOf(person: Person, of: WalkedOperation): Promise<string | undefined> {
  const { status, body } = await person.api.request(of.method, of.ownPath, brokenBody(of));
  if (status !== 403) return undefined;
  return hasErrorMessage(of) ? (/role (\w+)/.exec(body.error)?.[1] ?? 'member') : body.error.details.required;
}

export function checkRoles(walk: SharedWalk): void {
  test('asks for the role that its scope stands for', async () => {
    const { product, base, owner } = walk;
    const within = { ...product, base, organizationId: owner.organizationId };
    const [viewer, member] = [await personWith(within, 'viewer'), await personWith(within, 'member')];
    expect(walk.operations.length).toBeGreaterThan(100);
    for (const of of walk.operations.filter((one) => !isPersonal(one))) {
      const reads = of.method === 'GET';
      const isOfAdmins = ofAdmins.test(of.endpoint);
      // Deleting has no body that could be refused in its place.
      const isDeleted = of.method === 'DELETE' && !isOfAdmins;
      expect({
        of: of.endpoint,
        viewer: await requiredOf(viewer, of),
        member: isDeleted ? undefined : await requiredOf(member, of),
      }).toEqual({
        of: of.endpoint,
        viewer: reads && !/\/secrets$/.test(of.path) ? undefined : 'member',
        member: isOfAdmins ? 'admin' : undefined,
      });
    }
  });
}
