import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { accountTimes } from '../../src/accounts/core/times.ts';
import { invite } from '../../src/accounts/invitations.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { clientWith, consoleHeaders, cookieOf, newEmail, sendForm } from '../accounts/people.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product, type Tenant } from '../product.ts';

let product: Product;
let tenant: Tenant;

beforeAll(async () => {
  product = await openProduct({ env: secrets });
  tenant = await product.createTenant();
});
afterAll(() => product.close());

const count = async (sql: string, values: unknown[]): Promise<number> =>
  Number((await product.database.pool.query(sql, values)).rows[0].count);

test.each(['invitation.accepted', 'invitation.before-commit'])(
  'an invitation whose acceptance is killed at %s is accepted once, later',
  async (failPoint) => {
    const email = newEmail();
    const organizationId = organizationIds.parse(tenant.organizationId)!;
    const asked = { organizationId, email, role: 'member' as const };
    const { token } = await invite(product.database, asked, { actor: 'operator' }, { times: accountTimes() });
    const victim = await product.start(['api'], { FAIL_POINT: failPoint });
    await expect(sendForm(`${victim.api}/api/auth/invitations/${token}`)).rejects.toThrow();
    await victim.ended;
    const members = `select count(*) from auth."member" m join auth."user" u on u.id = m."userId" where u.email = $1`;
    expect(await count(members, [email])).toBe(0);

    const process = await product.start(['api']);
    const url = `${process.api}/api/auth/invitations/${token}`;
    const cookie = cookieOf(await sendForm(url));
    expect((await sendForm(url)).status).toBe(404);
    expect(await count(members, [email])).toBe(1);
    const entries = `select count(*) from audit_log a join auth."member" m on m.id = a.subject_id
      join auth."user" u on u.id = m."userId" where a.action = 'member.create' and u.email = $1`;
    expect(await count(entries, [email])).toBe(1);
    const person = clientWith(process.api, consoleHeaders(cookie, tenant.organizationId));
    expect((await person.get('/api/v1/workflows')).status).toBe(200);
    await process.stop();
  },
);
