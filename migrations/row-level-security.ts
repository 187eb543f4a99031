/** The condition of policies: rows of the organization that the connection's settings name. */
export const ownOrganization = "organization_id = nullif(current_setting('atelier.organization_id', true), '')::uuid";

/** The same, of its environment alone. */
export const ownTenant = `${ownOrganization} and environment = current_setting('atelier.environment', true)`;

/**
 * Statements that put a table with the columns `organization_id` and `environment` behind row-level security: the role
 * `atelier_tenant` sees and writes the rows of the tenant named by its connection's settings, and none where no tenant
 * is named; `atelier_system` sees all. FORCE makes it hold for the tables' owner too.
 */
export function secureTenantTable(table: string): string[] {
  return [
    `alter table ${table} enable row level security;`,
    `alter table ${table} force row level security;`,
    `create policy tenant on ${table} to atelier_tenant using (${ownTenant}) with check (${ownTenant});`,
    `create policy system on ${table} to atelier_system using (true) with check (true);`,
    `grant select, insert, update, delete on ${table} to atelier_tenant, atelier_system;`,
  ];
}

/** For a table that belongs to no tenant: only the system works with it. */
export function secureSystemTable(table: string): string[] {
  return [
    `alter table ${table} enable row level security;`,
    `alter table ${table} force row level security;`,
    `create policy system on ${table} to atelier_system using (true) with check (true);`,
    `grant select, insert, update, delete on ${table} to atelier_system;`,
  ];
}

/** Roles belong to the whole cluster: another database may have made them, or may be making them at this moment. */
export const createRoles = ['atelier_tenant', 'atelier_system'].flatMap((role) => [
  `do $$ begin
     create role ${role} nologin nosuperuser nobypassrls nocreatedb nocreaterole;
   exception when duplicate_object or unique_violation then null;
   end $$;`,
  `do $$ begin
     execute format('grant ${role} to %I', current_user);
   exception when unique_violation or sqlstate 'XX000' then null;
   end $$;`,
  `grant usage on schema public to ${role};`,
]);
