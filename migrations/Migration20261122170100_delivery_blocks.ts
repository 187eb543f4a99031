import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

const tenant = `organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test'))`;
const block = `subscription_id uuid not null,
      ends_at timestamptz not null,
      ends_id uuid not null`;

/** Deliveries counted in blocks: lists with filters and totals need no scan. src/webhooks/delivery-blocks.ts says how. */
export class Migration20261122170100_delivery_blocks extends Migration {
  override name = 'Migration20261122170100_delivery_blocks';

  override up(): void {
    this.addSql(`create table delivery_block (
      ${block},
      ${tenant},
      announced_by bigint null,
      is_counted boolean not null,
      primary key (subscription_id, ends_at, ends_id)
    );`);
    this.addSql(
      'create index delivery_block_uncounted_index on delivery_block (subscription_id) where not is_counted;',
    );
    this.addSql(`create table delivery_block_count (
      ${block},
      event_type varchar(60) not null,
      ${tenant},
      pending int not null,
      retrying int not null,
      dead_lettered int not null,
      delivered int not null,
      failed int not null,
      primary key (subscription_id, ends_at, ends_id, event_type)
    );`);
    this.addSql(`create index delivery_block_empty_index on delivery_block_count (subscription_id)
      where pending = 0 and retrying = 0 and dead_lettered = 0 and delivered = 0 and failed = 0;`);
    this.addSql(`create table delivery_change (
      id uuid not null,
      ${tenant},
      ${block},
      event_type varchar(60) not null,
      was varchar(20) null,
      becomes varchar(20) null,
      primary key (id)
    );`);
    this.addSql('create index delivery_change_block_index on delivery_change (subscription_id, ends_at, ends_id);');
    for (const table of ['delivery_block', 'delivery_block_count', 'delivery_change']) {
      for (const sql of secureTenantTable(table)) this.addSql(sql);
    }
    // One delivery in 1024 ends a block. The last bits of its id are random.
    this.addSql(`create index delivery_block_end_index on delivery (subscription_id, created_at, id)
      where get_byte(uuid_send(id), 15) = 0 and get_byte(uuid_send(id), 14) % 4 = 0;`);

    // Every statement that changes deliveries is counted, whichever it is. Deliveries younger than 30 seconds are in no block.
    this.addSql(`create function note_delivery_change() returns trigger language plpgsql as $$
    declare
      d delivery;
    begin
      if tg_op = 'DELETE' then d := old; else d := new; end if;
      insert into delivery_change (id, organization_id, environment, subscription_id, ends_at, ends_id, event_type, was, becomes)
      select uuidv7(), d.organization_id, d.environment, d.subscription_id, b.ends_at, b.ends_id,
             coalesce(d.event_type, (select type from event where id = coalesce(d.resent_event_id, d.event_id)), ''),
             old.status, new.status
        from delivery_block b
       where b.subscription_id = d.subscription_id and (b.ends_at, b.ends_id) >= (d.created_at, d.id)
       order by b.ends_at, b.ends_id limit 1;
      return null;
    end $$;`);
    for (const [event, condition] of [
      ['insert', 'new.created_at'],
      ['update', 'old.status is distinct from new.status and new.created_at'],
      ['delete', 'old.created_at'],
    ]) {
      this.addSql(`create trigger delivery_${event}_is_counted after ${event} on delivery for each row
        when (${condition} < clock_timestamp() - interval '30 seconds') execute function note_delivery_change();`);
    }
  }
}
