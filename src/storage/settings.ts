import { join, resolve } from 'node:path';
import { z } from 'zod';
import { withoutSlash } from '../platform/core/base-url.ts';
import { EnvError, type PlatformEnv, type SettingsOf } from '../platform/env.ts';
import { foreignKey, httpUrl } from '../platform/env-types.ts';

/** Where files are stored, and how their addresses are created. */
export const storageSettings = {
  shape: {
    STORAGE_DRIVER: z.enum(['local', 's3']).default('local'),
    STORAGE_DIR: z.string().min(1).default('.atelier/files'),
    STORAGE_URL: httpUrl.optional(),
    STORAGE_URL_SECONDS: z.coerce.number().int().min(1).max(604_800).default(86_400),
    S3_BUCKET: z.string().min(1).optional(),
    S3_REGION: z.string().min(1).default('us-east-1'),
    S3_ENDPOINT: httpUrl.optional(),
    S3_ACCESS_KEY_ID: foreignKey.optional(),
    S3_SECRET_ACCESS_KEY: foreignKey.optional(),
    S3_FORCE_PATH_STYLE: z
      .enum(['true', 'false'])
      .default('false')
      .transform((value) => value === 'true'),
    S3_PREFIX: z
      .string()
      .regex(/^[\w./-]*$/, 'expected letters, digits and . _ - /')
      .default('')
      .transform((value) => withoutSlash(value.replace(/^\/+/, ''))),
  },
};

export type StorageEnv = PlatformEnv & SettingsOf<typeof storageSettings.shape>;

/** A bucket of an S3-compatible service. */
export interface BucketSettings {
  bucket: string;
  region: string;
  endpoint?: string;
  /** Without them the SDK looks where AWS's tools do: variables, profiles, the role of the machine. */
  credentials?: { accessKeyId: string; secretAccessKey: string };
  forcePathStyle: boolean;
  /** Before each name, without slashes at its ends. */
  prefix: string;
}

/** @throws EnvError when the bucket or one half of the credentials is missing */
export function bucketSettings(env: StorageEnv): BucketSettings {
  const { S3_BUCKET: bucket, S3_ACCESS_KEY_ID: accessKeyId, S3_SECRET_ACCESS_KEY: secretAccessKey } = env;
  const missing = (name: string) =>
    new EnvError(`The environment is invalid for STORAGE_DRIVER=s3:\n  ${name}: is not set`);
  if (bucket === undefined) throw missing('S3_BUCKET');
  if (accessKeyId !== undefined && secretAccessKey === undefined) throw missing('S3_SECRET_ACCESS_KEY');
  if (accessKeyId === undefined && secretAccessKey !== undefined) throw missing('S3_ACCESS_KEY_ID');
  return {
    bucket,
    region: env.S3_REGION,
    forcePathStyle: env.S3_FORCE_PATH_STYLE,
    prefix: env.S3_PREFIX,
    ...(env.S3_ENDPOINT !== undefined && { endpoint: env.S3_ENDPOINT }),
    ...(accessKeyId !== undefined &&
      secretAccessKey !== undefined && { credentials: { accessKeyId, secretAccessKey } }),
  };
}

/** Absolute paths of the files and of those being written. With a bucket only the second is used. */
export function folders({ STORAGE_DIR }: StorageEnv): { files: string; spool: string } {
  const files = resolve(STORAGE_DIR);
  return { files, spool: join(files, 'incoming') };
}
