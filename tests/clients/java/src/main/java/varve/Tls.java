package varve;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** TLS, if SERVER_TLS names a folder with ca.crt and client.p12, whose password is "varve". */
final class Tls {
    private static final char[] PASSWORD = "varve".toCharArray();

    private Tls() {}

    static boolean isWanted() {
        return System.getenv("SERVER_TLS") != null;
    }

    private static Path file(String name) {
        return Path.of(System.getenv("SERVER_TLS"), name);
    }

    static KeyManagerFactory keys() {
        try (InputStream in = Files.newInputStream(file("client.p12"))) {
            KeyStore own = KeyStore.getInstance("PKCS12");
            own.load(in, PASSWORD);
            KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(own, PASSWORD);
            return keys;
        } catch (GeneralSecurityException | IOException failure) {
            throw new IllegalStateException(failure);
        }
    }

    static TrustManagerFactory trusted() {
        try (InputStream in = Files.newInputStream(file("ca.crt"))) {
            KeyStore trusted = KeyStore.getInstance("PKCS12");
            trusted.load(null, null);
            trusted.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(in));
            TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            managers.init(trusted);
            return managers;
        } catch (GeneralSecurityException | IOException failure) {
            throw new IllegalStateException(failure);
        }
    }

    static SSLContext context() {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(keys().getKeyManagers(), trusted().getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException failure) {
            throw new IllegalStateException(failure);
        }
    }
}
