import { Migration } from '@mikro-orm/migrations';
import { ownTenant, secureSystemTable, secureTenantTable } from './row-level-security.ts';

/** The ledger of credits. */
export class Migration20261201003000_credits extends Migration {
  override name = 'Migration20261201003000_credits';

  override up(): void {
    for (const sql of [
      // One row is changed again and again: free space in its page keeps the changes there, without touching the index.
      // PostgreSQL reads a check's text anew in every statement, some 20 µs each: only what money depends on is checked.
      `create table credit_account (
        organization_id uuid not null references organization,
        environment varchar(4) not null check (environment in ('live', 'test')),
        plan varchar(20) not null,
        period varchar(7) not null,
        period_grant int not null,
        own_grant int,
        monthly bigint not null,
        lasting bigint not null,
        held bigint not null,
        spent bigint not null,
        lapsed bigint not null,
        issued bigint not null,
        primary key (organization_id, environment),
        constraint credit_account_never_negative_check check (least(monthly, lasting, held, spent, lapsed) >= 0),
        constraint credit_account_sum_is_zero_check check (monthly + lasting + held + spent + lapsed + issued = 0)
      ) with (fillfactor=50);`,
      'alter table credit_account enable row level security;',
      'alter table credit_account force row level security;',
      `create policy tenant on credit_account to atelier_tenant using (${ownTenant}) with check (${ownTenant});`,
      'create policy system on credit_account to atelier_system using (true) with check (true);',
      'grant select, insert, update on credit_account to atelier_tenant;',
      'grant select, insert, update, delete on credit_account to atelier_system;',
      `create table credit_entry (
        organization_id uuid not null,
        environment varchar(4) not null,
        key varchar(200) not null,
        phase smallint not null,
        step varchar(8) not null,
        operation varchar(40),
        monthly int not null,
        lasting int not null,
        held int not null,
        spent int not null,
        lapsed int not null,
        issued int not null,
        reason varchar(200),
        created_at timestamptz not null,
        primary key (organization_id, environment, key, phase),
        constraint credit_entry_moves_something_check check (greatest(monthly, lasting, held, spent, lapsed) > 0),
        constraint credit_entry_sum_is_zero_check check (monthly + lasting + held + spent + lapsed + issued = 0)
      );`,
      `create index credit_entry_spent_index on credit_entry (organization_id, environment, created_at) include (spent) where spent > 0;`,
      'alter table credit_entry enable row level security;',
      'alter table credit_entry force row level security;',
      `create policy tenant on credit_entry to atelier_tenant using (${ownTenant}) with check (${ownTenant});`,
      'create policy system on credit_entry to atelier_system using (true) with check (true);',
      'grant select, insert on credit_entry to atelier_tenant;',
      'grant select, insert, delete on credit_entry to atelier_system;',
      // Its rows come and go. Were the file cut short when it is empty, a plan made then would read all of it.
      `create table credit_hold (
        organization_id uuid not null,
        environment varchar(4) not null,
        key varchar(200) not null,
        operation varchar(40) not null,
        monthly int not null,
        lasting int not null,
        period varchar(7) not null,
        expires_at timestamptz not null,
        primary key (organization_id, environment, key)
      ) with (vacuum_truncate=off);`,
      'create index credit_hold_expires_at_index on credit_hold (expires_at);',
      ...secureTenantTable('credit_hold'),
      `create table ledger_check (
        name varchar(20) not null,
        due_at timestamptz not null,
        checked_at timestamptz,
        faults int,
        primary key (name)
      );`,
      ...secureSystemTable('ledger_check'),
      // For those whom privileges do not hold, the owner first of all.
      `create trigger credit_entry_is_final before delete or update on credit_entry for each row execute function refuse_change();`,
      `create trigger credit_entry_is_kept before truncate on credit_entry for each statement execute function refuse_change();`,
    ]) {
      this.addSql(sql);
    }
  }
}
