import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { BareActivities } from './bare-worker.ts';

const options = { startToCloseTimeout: '10 seconds' } as const;
const ordinary = proxyActivities<BareActivities>(options);
const local = proxyLocalActivities<BareActivities>(options);

export async function nothing(): Promise<void> {}

export async function oneOrdinary(): Promise<string> {
  return ordinary.echo('1');
}

export async function threeOrdinary(): Promise<string> {
  return ordinary.echo(await ordinary.echo(await ordinary.echo('3')));
}

export async function threeLocal(): Promise<string> {
  return local.echo(await local.echo(await local.echo('3')));
}
