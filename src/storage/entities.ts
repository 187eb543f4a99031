import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database/database.ts';

/**
 * A file and its owner. The row precedes the file, so that every file is known: files that are not recorded in time or
 * no longer needed are removed by the sweep, first the file and then the row.
 */
export const File = defineEntity({
  name: 'File',
  tableName: 'file',
  filters: { tenant: tenantFilter },
  properties: {
    /** 43 random characters and an ending. */
    name: p.string().length(48).primary(),
    organizationId: p.uuid(),
    environment: p.string().length(4),
    kind: p.string().length(20),
    contentType: p.string().length(40),
    /** The name under which browsers save it, without the ending. */
    title: p.string().length(60),
    bytes: p.bigint('number').nullable(),
    sha256: p.blob().nullable(),
    createdAt: p.datetime(),
    /** When the transaction that owns the file recorded it. Before that it cannot be read. */
    recordedAt: p.datetime().nullable(),
    /** When the sweep may remove it; null for a file that is kept. */
    removeAt: p.datetime().nullable(),
  },
  indexes: [
    { name: 'file_remove_at_index', properties: ['removeAt'], where: 'remove_at is not null' },
    { name: 'file_tenant_index', properties: ['organizationId'] },
  ],
});
export type File = InferEntity<typeof File>;

/** Rows per environment: transactions that end at the same time rarely write the same one. */
export const storageSlots = 8;

/** A part of the bytes that a tenant keeps: the sum of its slots is the whole. Written only by triggers. */
export const StorageUsed = defineEntity({
  name: 'StorageUsed',
  tableName: 'storage_used',
  filters: { tenant: tenantFilter },
  properties: {
    organizationId: p.uuid().primary(),
    environment: p.string().length(4).primary(),
    slot: p.smallint().primary(),
    bytes: p.bigint('number'),
  },
});
