import { Migration } from '@mikro-orm/migrations';

/** Tables of better-auth, in a schema of their own. As its version prints them, but for what a comment names. */
const authTables = [
  `create table auth."user" (
    "id" uuid default uuidv7() not null primary key,
    "name" text not null,
    "email" text not null unique,
    "emailVerified" boolean not null,
    "image" text,
    "createdAt" timestamptz default CURRENT_TIMESTAMP not null,
    "updatedAt" timestamptz default CURRENT_TIMESTAMP not null,
    "twoFactorEnabled" boolean,
    -- Unknown to better-auth.
    "lastSeenAt" timestamptz
  );`,
  `create table auth."session" (
    "id" uuid default uuidv7() not null primary key,
    "expiresAt" timestamptz not null,
    "token" text not null unique,
    "createdAt" timestamptz default CURRENT_TIMESTAMP not null,
    "updatedAt" timestamptz not null,
    "ipAddress" text,
    "userAgent" text,
    "userId" uuid not null references auth."user" ("id") on delete cascade,
    "activeOrganizationId" text
  );`,
  `create table auth."account" (
    "id" uuid default uuidv7() not null primary key,
    "accountId" text not null,
    "providerId" text not null,
    "userId" uuid not null references auth."user" ("id") on delete cascade,
    "accessToken" text,
    "refreshToken" text,
    "idToken" text,
    "accessTokenExpiresAt" timestamptz,
    "refreshTokenExpiresAt" timestamptz,
    "scope" text,
    "password" text,
    "createdAt" timestamptz default CURRENT_TIMESTAMP not null,
    "updatedAt" timestamptz not null
  );`,
  `create table auth."verification" (
    "id" uuid default uuidv7() not null primary key,
    "identifier" text not null,
    "value" text not null,
    "expiresAt" timestamptz not null,
    "createdAt" timestamptz default CURRENT_TIMESTAMP not null,
    "updatedAt" timestamptz default CURRENT_TIMESTAMP not null
  );`,
  // Kept by a trigger of our own organizations, and removed with them.
  `create table auth."organization" (
    "id" uuid not null primary key references organization (id) on delete cascade,
    "name" text not null,
    "slug" text not null unique deferrable initially deferred,
    "logo" text,
    "createdAt" timestamptz not null,
    "metadata" text
  );`,
  // A person is a member of an organization once.
  `create table auth."member" (
    "id" uuid default uuidv7() not null primary key,
    "organizationId" uuid not null references auth."organization" ("id") on delete cascade,
    "userId" uuid not null references auth."user" ("id") on delete cascade,
    "role" text not null check ("role" in ('owner', 'admin', 'member', 'viewer')),
    "createdAt" timestamptz not null,
    unique ("organizationId", "userId")
  );`,
  // An operator invites as well, who is no user; the token is in the mail alone. better-auth refuses columns that it cannot
  // fill, so ours may be null.
  `create table auth."invitation" (
    "id" uuid default uuidv7() not null primary key,
    "organizationId" uuid not null references auth."organization" ("id") on delete cascade,
    "email" text not null,
    "role" text check ("role" in ('owner', 'admin', 'member', 'viewer')),
    "status" text not null check ("status" in ('pending', 'accepted', 'rejected', 'canceled')),
    "expiresAt" timestamptz not null,
    "createdAt" timestamptz default CURRENT_TIMESTAMP not null,
    "inviterId" uuid references auth."user" ("id") on delete set null,
    "tokenHash" bytea unique,
    -- Null until the mail was sent; a link that an operator hands over needs none.
    "mailedAt" timestamptz
  );`,
  `create table auth."twoFactor" (
    "id" uuid default uuidv7() not null primary key,
    "secret" text not null,
    "backupCodes" text not null,
    "userId" uuid not null references auth."user" ("id") on delete cascade,
    "verified" boolean,
    "failedVerificationCount" integer,
    "lockedUntil" timestamptz
  );`,
  `create table auth."passkey" (
    "id" uuid default uuidv7() not null primary key,
    "name" text,
    "publicKey" text not null,
    "userId" uuid not null references auth."user" ("id") on delete cascade,
    "credentialID" text not null,
    "counter" integer not null,
    "deviceType" text not null,
    "backedUp" boolean not null,
    "transports" text,
    "createdAt" timestamptz,
    "aaguid" text
  );`,
  'create index "session_userId_idx" on auth."session" ("userId");',
  'create index "session_expiresAt_idx" on auth."session" ("expiresAt");',
  'create index "account_userId_idx" on auth."account" ("userId");',
  'create index "account_accountId_idx" on auth."account" ("accountId", "providerId");',
  'create index "verification_identifier_idx" on auth."verification" ("identifier");',
  'create index "verification_expiresAt_idx" on auth."verification" ("expiresAt");',
  'create index "member_userId_idx" on auth."member" ("userId");',
  'create index "invitation_organizationId_idx" on auth."invitation" ("organizationId", "id");',
  'create index "invitation_email_idx" on auth."invitation" ("email");',
  'create index "invitation_expiresAt_idx" on auth."invitation" ("expiresAt");',
  'create index "twoFactor_secret_idx" on auth."twoFactor" ("secret");',
  'create index "twoFactor_userId_idx" on auth."twoFactor" ("userId");',
  'create index "passkey_userId_idx" on auth."passkey" ("userId");',
  'create index "passkey_credentialID_idx" on auth."passkey" ("credentialID");',
];

/** The role in which better-auth works: it has rights on the schema `auth` alone. */
const createRole = [
  `do $$ begin
     create role atelier_auth nologin nosuperuser nobypassrls nocreatedb nocreaterole;
   exception when duplicate_object or unique_violation then null;
   end $$;`,
  `do $$ begin
     execute format('grant atelier_auth to %I', current_user);
   exception when unique_violation or sqlstate 'XX000' then null;
   end $$;`,
];

/** Users, sessions, members and invitations. Organizations get a slug, unique in the installation. */
export class Migration20261201060000_accounts extends Migration {
  override name = 'Migration20261201060000_accounts';

  override up(): void {
    for (const sql of [
      ...createRole,
      'create schema auth;',
      'alter table organization add column slug varchar(63);',
      // A name that another organization has gets digits of the id. Two that are created at once take turns.
      `create function slug_of(name text, id uuid) returns text language plpgsql as $$
      declare
        words text := trim(both '-' from left(regexp_replace(lower(name), '[^a-z0-9]+', '-', 'g'), 48));
      begin
        if words = '' then words := 'organization'; end if;
        perform pg_advisory_xact_lock(hashtextextended('slug ' || words, 0));
        if words in ('test', 'live', 'app', 'api') or exists (select from organization o where o.slug = words) then
          return words || '-' || right(replace(id::text, '-', ''), 12);
        end if;
        return words;
      end $$;`,
      `do $$
      declare one record;
      begin
        for one in select id, name from organization order by id loop
          update organization o set slug = slug_of(one.name, one.id) where o.id = one.id;
        end loop;
      end $$;`,
      'alter table organization alter column slug set not null;',
      'alter table organization add constraint organization_slug_unique unique (slug);',
      'grant select (slug) on organization to atelier_tenant;',
      `create function give_slug() returns trigger language plpgsql as $$
      begin
        if new.slug is null then new.slug := slug_of(new.name, new.id); end if;
        return new;
      end $$;`,
      'create trigger give_slug before insert on organization for each row execute function give_slug();',
      ...authTables,
      `insert into auth.organization ("id", "name", "slug", "createdAt")
       select id, name, slug, created_at from organization;`,
      `create function copy_organization() returns trigger language plpgsql as $$
      begin
        insert into auth.organization ("id", "name", "slug", "createdAt")
        values (new.id, new.name, new.slug, new.created_at)
        on conflict ("id") do update set "name" = excluded."name", "slug" = excluded."slug";
        return null;
      end $$;`,
      `create trigger copy_organization after insert or update of name, slug on organization
        for each row execute function copy_organization();`,
      'grant usage on schema auth to atelier_auth, atelier_system;',
      'grant select, insert, update, delete on all tables in schema auth to atelier_auth, atelier_system;',
      // Whose key it is that a person created, for the list of keys.
      'alter table api_key add column created_by varchar(64);',
    ]) {
      this.addSql(sql);
    }
  }
}
