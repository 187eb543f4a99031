import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** The credit ledger: accounts, entries that are never changed, and what is reserved at the moment. */
export class Migration20261121010000_credits extends Migration {
  override name = 'Migration20261121010000_credits';

  override up(): void {
    // One row is changed again and again: free space in its page keeps the changes there, without touching the index.
    this.addSql(`create table credit_account (
      organization_id uuid not null,
      environment varchar(4) not null,
      plan varchar(20) not null,
      period varchar(7) not null,
      period_grant int not null,
      own_grant int null,
      monthly bigint not null,
      lasting bigint not null,
      held bigint not null,
      spent bigint not null,
      lapsed bigint not null,
      issued bigint not null,
      primary key (organization_id, environment)
    ) with (fillfactor = 50);`);
    this.addSql(`create table credit_entry (
      organization_id uuid not null,
      environment varchar(4) not null,
      key varchar(200) not null,
      phase smallint not null,
      step varchar(8) not null,
      operation varchar(40) null,
      monthly int not null,
      lasting int not null,
      held int not null,
      spent int not null,
      lapsed int not null,
      issued int not null,
      reason varchar(200) null,
      created_at timestamptz not null,
      primary key (organization_id, environment, key, phase)
    );`);
    this.addSql(
      'create index credit_entry_spent_index on credit_entry (organization_id, environment, created_at) include (spent) where spent > 0;',
    );
    // Its rows come and go. Were the file cut short when it is empty, a plan made then would read all of it in a rush.
    this.addSql(`create table credit_hold (
      organization_id uuid not null,
      environment varchar(4) not null,
      key varchar(200) not null,
      operation varchar(40) not null,
      monthly int not null,
      lasting int not null,
      period varchar(7) not null,
      expires_at timestamptz not null,
      primary key (organization_id, environment, key)
    ) with (vacuum_truncate = off);`);
    this.addSql('create index credit_hold_expires_at_index on credit_hold (expires_at);');

    this.addSql('alter table credit_account add foreign key (organization_id) references organization (id);');
    // PostgreSQL reads a check's text anew in every statement, some 20 µs each: only what money depends on is checked.
    this.addSql("alter table credit_account add check (environment in ('live', 'test'));");
    this.addSql(`alter table credit_account add constraint credit_account_never_negative_check
      check (least(monthly, lasting, held, spent, lapsed) >= 0);`);
    this.addSql(`alter table credit_account add constraint credit_account_sum_is_zero_check
      check (monthly + lasting + held + spent + lapsed + issued = 0);`);
    this.addSql(`alter table credit_entry add constraint credit_entry_sum_is_zero_check
      check (monthly + lasting + held + spent + lapsed + issued = 0);`);
    this.addSql(`alter table credit_entry add constraint credit_entry_moves_something_check
      check (greatest(monthly, lasting, held, spent, lapsed) > 0);`);

    for (const table of ['credit_account', 'credit_entry', 'credit_hold']) {
      for (const sql of secureTenantTable(table)) this.addSql(sql);
    }
    this.addSql('revoke delete on credit_account from atelier_tenant, atelier_system;');
    this.addSql('revoke update, delete on credit_entry from atelier_tenant, atelier_system;');
    // For those whom privileges do not hold, the owner first of all.
    this.addSql(`create function refuse_change() returns trigger language plpgsql as $$ begin
      raise exception 'rows of % are never changed or removed', tg_table_name using errcode = 'restrict_violation';
    end $$;`);
    this.addSql(
      'create trigger credit_entry_is_final before update or delete on credit_entry for each row execute function refuse_change();',
    );
    this.addSql(
      'create trigger credit_entry_is_kept before truncate on credit_entry for each statement execute function refuse_change();',
    );
  }
}
