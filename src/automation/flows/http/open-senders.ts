import type { Database } from '../../../platform/database/database.ts';
import { sqlOn } from '../../../platform/database/sql.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import { hostWaitMs, limitedHost, takeHostRate } from '../../../webhooks/index.ts';
import { HostQueue } from './host-queue.ts';
import type { HttpSenders } from './http-sender.ts';
import { liveSender } from './live-sender.ts';
import { sandboxSender } from './sandbox-sender.ts';

interface Opening {
  database: Database;
  egress: Egress;
  /** Requests a second to one host at most, deliveries of webhooks included. */
  hostRate: number;
}

export function openHttpSenders({ database, egress, hostRate }: Opening): HttpSenders {
  const hosts = new HostQueue({
    take: async (host, wanted) =>
      (await takeHostRate(sqlOn(database.pool), new Map([[host, wanted]]), hostRate)).get(host) ?? 0,
    waitMs: hostWaitMs(hostRate),
  });
  return {
    live: liveSender({ egress, hosts, limitedHost: (url) => limitedHost(egress, url) }),
    test: sandboxSender,
  };
}
